"""The wire: stubs of CRI v1, generated from `protos/runtime/v1/api.proto`, and since when each part of it
exists.

    from critests.api import api_pb2 as cri, api_pb2_grpc as cri_grpc

`nri_pb2` and `ttrpc_pb2` have the messages of the Node Resource Interface, from `protos/nri/` and
`protos/ttrpc/`. All `_pb2` files are never edited; `tools/generate_api.py` writes them. `since` is ours.
"""
