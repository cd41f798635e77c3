"""What is run: programs, suites of them, and their inputs."""
