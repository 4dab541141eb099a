"""One driver program per client library; each speaks the line protocol of `driver_loop`."""
