// A plugin in C, against the WIT alone: it says back what it was given, fails as told, and runs past its memory as
// only C does.
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const char ANYTHING[] = "{\"type\": \"object\"}";
static const char NOTHING_CALLED[] = "nothing is called that";

void exports_chancery_tool_tools_definitions(exports_chancery_tool_tools_list_definition_t *ret) {
    exports_chancery_tool_tools_definition_t *one = calloc(1, sizeof *one);
    tool_string_dup(&one->name, "c.echo");
    tool_string_dup(&one->description, "Says back what it was given.");
    tool_string_dup(&one->input_schema, ANYTHING);
    tool_string_dup(&one->output_schema, ANYTHING);
    ret->ptr = one;
    ret->len = 1;
}

static bool has(const tool_string_t *text, const char *word) {
    size_t length = strlen(word);
    for (size_t at = 0; at + length <= text->len; at++) {
        if (memcmp(text->ptr + at, word, length) == 0) return true;
    }
    return false;
}

static char *append(char *to, const void *from, size_t length) {
    memcpy(to, from, length);
    return to + length;
}

bool exports_chancery_tool_tools_call(
    exports_chancery_tool_tools_tool_call_t *call,
    exports_chancery_tool_tools_json_t *ret,
    exports_chancery_tool_tools_failure_t *err) {
    if (has(&call->input, "\"fail\"")) {
        err->kind.tag = CHANCERY_TYPES_TYPES_FAILURE_KIND_NOT_FOUND;
        tool_string_dup(&err->message, NOTHING_CALLED);
        err->retry_after_ms.is_some = false;
        return false;
    }
    if (has(&call->input, "\"stray\"")) {
        // Far beyond what this program was given.
        volatile uint8_t *nowhere = (uint8_t *)0x7ffffff0;
        nowhere[0] = 1;
    }
    tool_string_t key, colour;
    tool_string_set(&key, "colour");
    bool set = chancery_host_settings_get(&key, &colour);
    static const char INPUT[] = "{\"input\": ", SETTING[] = ", \"setting\": ", END[] = "}", NONE[] = "null";
    char *text = malloc(sizeof INPUT + sizeof SETTING + sizeof END + sizeof NONE + call->input.len + (set ? colour.len : 0));
    char *at = append(text, INPUT, sizeof INPUT - 1);
    at = append(at, call->input.ptr, call->input.len);
    at = append(at, SETTING, sizeof SETTING - 1);
    at = set ? append(at, colour.ptr, colour.len) : append(at, NONE, sizeof NONE - 1);
    at = append(at, END, sizeof END - 1);
    ret->ptr = (uint8_t *)text;
    ret->len = (size_t)(at - text);
    return true;
}
