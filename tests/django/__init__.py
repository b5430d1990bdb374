"""`workkit.django`, in a project that is this folder: its settings, its jobs and its tasks."""
