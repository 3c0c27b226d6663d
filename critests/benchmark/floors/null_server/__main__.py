"""`python -m critests.benchmark.floors.null_server --socket PATH`."""

from critests.benchmark.floors.null_server.server import main

if __name__ == "__main__":
    main()
