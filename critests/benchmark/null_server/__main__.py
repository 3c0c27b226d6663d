"""`python -m critests.benchmark.null_server --socket PATH`."""

from critests.benchmark.null_server.server import main

if __name__ == "__main__":
    main()
