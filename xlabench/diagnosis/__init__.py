"""From a failure to its cause: smaller, alone, and to the one guilty step."""
