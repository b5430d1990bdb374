"""workkit and its peers side by side, on one server, in one run. Not run by pytest.

python -m tests.benchmarks.peers [--short] [--only workkit,bullmq] [--out FOLDER]
"""
