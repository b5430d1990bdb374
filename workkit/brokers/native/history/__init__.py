"""What the native layout keeps of past runs, and its bytes: spec/history.md."""
