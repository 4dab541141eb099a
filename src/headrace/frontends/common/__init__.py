"""What every front end needs: writing to a socket in order, with limits."""
