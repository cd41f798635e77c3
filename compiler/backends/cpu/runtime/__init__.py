"""What runs beside a compiled program: the call from Python, recycled memory and the thread pool."""
