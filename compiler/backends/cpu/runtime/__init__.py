"""The run-time of compiled programs: the call from Python, recycled memory and the thread pool."""
