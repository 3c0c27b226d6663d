"""The wire: stubs of CRI v1, generated from `protos/runtime/v1/api.proto`, and since when each part of it
exists.

    from critests.api import api_pb2 as cri, api_pb2_grpc as cri_grpc

`api_pb2*` and their `.pyi` files are never edited; `tools/generate_api.py` writes them. `since` is ours.
"""
