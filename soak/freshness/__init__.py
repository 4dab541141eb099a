"""How fresh a table is that follows a busy topic, and what the job costs the producers."""
