"""Record batches: the one format that both the disk and the wire speak. No I/O, no clock."""
