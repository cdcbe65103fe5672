"""From a request and the facts to a plan."""
