class ProtobufError(ValueError):
    pass
