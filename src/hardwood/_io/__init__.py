"""Stored models, files and ONNX."""
