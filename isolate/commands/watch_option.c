/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --watch, cordon's part. See watch_option.h. The request goes along in a memfd: any size, and
 * readable by no other user.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/watch_option.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/io.h"
#include "isolate/commands/print_record.h"
#include "isolate/commands/remote.h"
#include "isolate/base/locate.h"

static void write_envelope(
	struct buffer *out, const char *name, const struct options *o, const struct buffer *request)
{
	struct json_writer w;

	json_begin(&w, out);
	json_open_object(&w);
	json_key(&w, "name");
	json_string(&w, name);
	json_key(&w, "json");
	json_bool(&w, o->json);
	json_key(&w, "plain");
	json_bool(&w, o->plain);
	json_key(&w, "theme");
	json_string(&w, o->theme ? o->theme : "");
	json_key(&w, "events");
	json_string(&w, o->events_file ? o->events_file : "");
	json_key(&w, "request");
	json_raw(&w, request->data, request->length - 1); /* without its newline */
	json_close_object(&w);
}

static int hand_over(const struct buffer *text, struct error *err)
{
	int file = memfd_create("watch", 0);

	/*
	 * dup2(2) clears the flag that would close it; a file that has the number already never had
	 * it.
	 */
	if (file < 0 || write_all(file, text->data, text->length) < 0 ||
		(file != WATCH_REQUEST && dup2(file, WATCH_REQUEST) < 0))
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, errno, "keeping what is to be watched");
	if (file != WATCH_REQUEST)
		close(file);
	return 0;
}

static int refuse(const struct options *o, struct error *err)
{
	if (o->daemon)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--watch is for a run without the daemon: with --daemon, `cordon console` "
			"shows it");
	if (o->stdin_open || o->tty)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--watch takes the keyboard, so it does not go with --stdin and --tty");
	return 0;
}

int watch_execute(
	const char *name, enum command_set set, const struct options *o, const struct program *p)
{
	char *argv[] = { (char *)"cordon", (char *)"watch", NULL };
	_cleanup_buffer_ struct buffer request = BUFFER_INIT, text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	char path[PATH_MAX];
	int status = refuse(o, &err);

	if (status == 0)
		status = remote_request(&request, set, o, p, false, false, &err);
	if (status == 0)
		write_envelope(&text, name, o, &request);
	if (status == 0 && text.failed)
		status = error_set(
			&err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "keeping what is to be watched");
	if (status == 0 && locate(OWN_OPERATE, path, sizeof path, &err) == 0 &&
		hand_over(&text, &err) == 0) {
		execv(path, argv);
		error_set(&err, FAILURE_HELPER_MISSING, errno, "executing %s", path);
	}
	return err.code == FAILURE_BAD_OPTION
		? answer_usage(name, &err, set == FOR_EXEC || o->json)
		: answer_failure(name, &err, set == FOR_EXEC || o->json);
}
