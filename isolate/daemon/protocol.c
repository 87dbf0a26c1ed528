/* SPDX-License-Identifier: Apache-2.0 */
/* The control protocol. See protocol.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/protocol.h"

#include <stdio.h>
#include <string.h>

#include "isolate/base/json_gate.h"

const struct protocol_method_text protocol_methods[METHOD_COUNT] = {
#define METHOD(id, name, params, meaning) [METHOD_##id] = { name, params, meaning },
#include "isolate/daemon/methods.def"
#undef METHOD
};

static const struct json_gate_rules RULES = { .max_bytes = PROTOCOL_FRAME_MAX,
	.max_depth = PROTOCOL_DEPTH_MAX,
	.must_be_object = true,
	.one_line = true };

static bool refuse(struct protocol_refusal *refusal, int code, const char *message)
{
	refusal->code = code;
	snprintf(refusal->message, sizeof refusal->message, "%s", message);
	return false;
}

/*
 * A string or a whole number, short enough to be kept. null is what an error without an id has, so
 * it is none.
 */
static bool take_id(struct json_slice id, char *out)
{
	enum json_kind kind = json_kind(id);

	if (id.length >= PROTOCOL_ID_MAX || (kind != JSON_NUMBER && kind != JSON_STRING))
		return false;
	memcpy(out, id.text, id.length);
	out[id.length] = '\0';
	return true;
}

static bool find_method(struct json_slice name, enum protocol_method *method)
{
	for (int i = 0; i < METHOD_COUNT; i++)
		if (json_is(name, protocol_methods[i].name)) {
			*method = (enum protocol_method)i;
			return true;
		}
	return false;
}

/* Whether every member of params is one of the method's. */
static bool check_params(const struct protocol_request *r, struct protocol_refusal *refusal)
{
	const char *known = protocol_methods[r->method].params;
	struct json_slice key, value;
	size_t at = 0;

	while (json_next(r->params, &at, &key, &value)) {
		bool found = false;

		for (const char *name = known; *name && !found;) {
			size_t length;

			name += strspn(name, " []");
			length = strcspn(name, " []");
			found = length > 0 && length == key.length &&
				memcmp(name, key.text, length) == 0;
			name += length;
		}
		if (!found)
			return refuse(refusal, ERROR_PARAMS,
				"params has a member that this method does not know");
	}
	return true;
}

bool protocol_read(const char *line, size_t length, struct protocol_request *request,
	struct protocol_refusal *refusal)
{
	struct json_slice key, value, version = { NULL, 0 }, method = { NULL, 0 }, id = { NULL, 0 };
	char reason[240];
	size_t at = 0;

	*request = (struct protocol_request){ .id = "null", .params = { "{}", 2 } };
	refusal->code = 0;
	if (!json_gate_check(&RULES, line, length, reason, sizeof reason))
		return refuse(refusal, ERROR_PARSE, reason);
	while (json_next(json_slice(line, length), &at, &key, &value)) {
		if (json_key_is(key, "jsonrpc"))
			version = value;
		else if (json_key_is(key, "method"))
			method = value;
		else if (json_key_is(key, "id"))
			id = value;
		else if (json_key_is(key, "params"))
			request->params = value;
		else
			return refuse(refusal, ERROR_REQUEST,
				"a request has jsonrpc, id, method and params, and nothing else");
	}
	if (id.text && !take_id(id, request->id))
		return refuse(refusal, ERROR_REQUEST,
			"id must be a number or a string of at most 120 bytes");
	if (!json_is(version, "2.0") || json_kind(method) != JSON_STRING)
		return refuse(
			refusal, ERROR_REQUEST, "\"jsonrpc\": \"2.0\" and a method are needed");
	if (!find_method(method, &request->method))
		return refuse(refusal, ERROR_METHOD, "there is no such method");
	if (json_kind(request->params) != JSON_OBJECT)
		return refuse(refusal, ERROR_PARAMS, "params must be an object");
	if (!check_params(request, refusal))
		return false;
	if (!id.text)
		request->id[0] = '\0';
	return true;
}

bool protocol_text(const struct protocol_request *r, const char *key, char *out, size_t size,
	struct protocol_refusal *refusal)
{
	struct json_slice value = json_get(r->params, key);
	char sentence[128];

	if (!value.text || json_copy(value, out, size))
		return true;
	snprintf(sentence, sizeof sentence,
		"%s must be a string without escapes, shorter than %zu bytes", key, size);
	return refuse(refusal, ERROR_PARAMS, sentence);
}

bool protocol_number(const struct protocol_request *r, const char *key, int64_t low, int64_t high,
	int64_t *value, struct protocol_refusal *refusal)
{
	struct json_slice slice = json_get(r->params, key);
	char sentence[160];
	int64_t number = 0;
	size_t at = 0;

	if (!slice.text)
		return true;
	for (; at < slice.length && at < 18 && slice.text[at] >= '0' && slice.text[at] <= '9'; at++)
		number = number * 10 + (slice.text[at] - '0');
	if (at == slice.length && number >= low && number <= high) {
		*value = number;
		return true;
	}
	snprintf(sentence, sizeof sentence, "%s must be a whole number from %lld to %lld", key,
		(long long)low, (long long)high);
	return refuse(refusal, ERROR_PARAMS, sentence);
}

void protocol_result(struct buffer *out, const char *id, const char *result, size_t length)
{
	if (!*id)
		return;
	buffer_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id);
	buffer_add(out, result, length);
	buffer_add_text(out, "}\n");
}

void protocol_error_raw(struct buffer *out, const char *id, const char *error, size_t length)
{
	if (!*id)
		return;
	buffer_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":", id);
	buffer_add(out, error, length);
	buffer_add_text(out, "}\n");
}

void protocol_error(struct buffer *out, const char *id, int code, const char *message,
	const char *data, size_t data_length)
{
	struct json_writer w;

	if (!*id)
		return;
	buffer_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":", id);
	json_begin(&w, out);
	json_open_object(&w);
	json_key(&w, "code");
	json_integer(&w, code);
	json_key(&w, "message");
	json_string(&w, message);
	if (data) {
		json_key(&w, "data");
		json_raw(&w, data, data_length);
	}
	json_close_object(&w);
	buffer_add_text(out, "}\n");
}
