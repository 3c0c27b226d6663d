"""Stubs of CRI v1, generated from `protos/runtime/v1/api.proto`, and the release in which each part appeared.

    from critests.api import api_pb2 as cri, api_pb2_grpc as cri_grpc

`nri_pb2` and `ttrpc_pb2` have the messages of the Node Resource Interface, from `protos/nri/` and
`protos/ttrpc/`. `tools/generate_api.py` writes all `_pb2` files and all types; do not edit them.
`api_pb2_grpc.py` and `since` are written by hand.
"""
