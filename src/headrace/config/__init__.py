"""Settings: each option is declared once, with name, type, unit, default, range and help."""
