"""Pure state machines: decisions are records, and replaying a record is the only mutation."""
