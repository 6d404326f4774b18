"""A plugin in Python, against the WIT alone: it says back what it was given, fails as told, and looks at its world."""

import json
import os
import random
import time

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.tools import Definition, ToolCall
from wit_world.imports import credentials, log, settings
from wit_world.imports.types import Failure, FailureKind_NotFound

ANYTHING = json.dumps({"type": "object"})


class Tools(exports.Tools):
    def definitions(self) -> list[Definition]:
        return [Definition("python.echo", "Says back what it was given.", ANYTHING, ANYTHING)]

    def call(self, call: ToolCall) -> str:
        given = json.loads(call.input)
        if "fail" in given:
            raise Err(Failure(FailureKind_NotFound(), f"nothing is called {given['fail']}", None))
        while given.get("spin"):
            pass
        log.write(log.Level.INFO, "Python was here")
        print("and printed a line")
        return json.dumps(
            {
                "text": given.get("text"),
                "key": call.key,
                "setting": settings.get("colour"),
                "credential": credentials.exists("python.token"),
                "year": time.gmtime().tm_year,
                "drawn": random.SystemRandom().random(),
                "environment": len(os.environ),
            }
        )
