/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the manual page cordon(1) in man(7) form. Runs while cordon is built.
 *
 * What can be had from a table comes from it: options, commands, exit statuses, record fields, failure codes. Only the prose
 * between is written here. Table text passes man_text, which keeps roff from reading it as requests or hyphens.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "isolate/commands/manual_tables.h"
#include "isolate/monitor/event_table.h"
#include "isolate/options/option_table.h"

static const struct { const char *head, *text; } view_texts[] = {
	{ "Rules", "A pattern of --hide that begins with a slash is matched from the host's root, any other against the end of a path, at any depth. `*`, `?` and `[...]` stay within one component, `**` is a whole "
		   "component and stands for any number of them; a backslash makes the next byte literal. What matches is hidden with all below it. Of two rules the deeper match wins, then a path before a pattern, "
		   "then the caller's before a built-in one, then the one that hides. A pattern with a slip in it, one about what is shown as a bind, and two named paths at one place are refused." },
	{ "Named exactly", "A secret is shown where --ro names it by its own path. A path that leads to it by a symbolic or a hard link is refused, since the link may have been made by whoever wants it seen; of a "
			   "hard link that is looked for in the named trees and in the three directories above it. What the caller hides is not shown by such a path in any case." },
	{ "Several names", "A file with several names (hard links) is hidden when one of them is. The first time that such a file is reached the named trees are gone through, and each time its names are checked again. Where a "
			   "directory of a named tree may not be listed, a file whose names were not all found is hidden, by the rule hard-link. A name outside every named tree is known where a rule leads to it: a path, or a "
			   "pattern in a directory that is written out; rules for any depth are looked for in the caller's home, in the named directories (those without a pattern) and in the directories that these lie in. "
			   "A rule with a pattern above its last component is not looked for there. A directory with another name of a file in it that is moved during the run from outside the named trees to a hidden place "
			   "inside is found a second later or, in a large tree, when fifty times as long has passed as going through it takes. Where a hidden name that was found in this way is a symbolic link, what it leads "
			   "to is hidden, too; any other link with a secret's name is absent, and what it leads to is judged by its own name." },
	{ "Changes on the host", "A file below a named path that was changed, replaced or removed shows so at the next open, a directory at the next listing; the named path itself stays what it was at the start. Attributes that were seen may be up to a minute old. A name that was asked for in vain is "
				 "asked for again after a second." },
	{ "Events", "Each open is told, of files and of directories, and each refusal, whether or not something is cached; a stat that the kernel answers from its cache is not. Pipes, sockets and devices are the "
		    "kernel's own: a pipe of the host's is a new one inside, a device and a socket are dead, and opening one is not told." },
	{ "Open files", "The server holds a descriptor for each file that the program has open, and the listings of open directories, 64 MiB in all. Where the caller's hard limit (ulimit -Hn) or that is reached the program gets ENFILE, and the record has a refusal by the rule open-files." },
	{ "Writing", "Every change is refused with EROFS and told. Below --scratch it goes to memory. --export then writes scratch-N/changes.txt, with a line for each change: A (new), M "
		     "(changed), D (removed) or R (a directory in place of another: nothing is left of that but what is listed in it) and the path, with a slash after a directory; then, behind a tab each, what is to be said: that the path is not printable as it is, "
		     "`-> TARGET` for a link, `(pipe)`, `(socket)` or `(device)` for what is no file, `(permissions 0755)` where they were changed. scratch-N/files holds the new and changed files and nothing else. "
		     "scratch-N must not be there before; what the program puts into /workspace under such a name is left out." },
};

static const struct { const char *head, *text; } container_texts[] = {
	{ "docker", "docker run -u 1000 --security-opt seccomp=unconfined --security-opt systempaths=unconfined --security-opt"
		    " apparmor=unconfined --device /dev/fuse IMAGE. docker's own filter refuses new namespaces, its profile refuses mounts,"
		    " and a covered /proc lets no new one be mounted. Without --device there is no view." },
	{ "podman, rootless", "podman run --userns=keep-id --device /dev/fuse --security-opt unmask=ALL IMAGE" },
	{ "A service", "Delegate=yes lets cordon make a cgroup for each sandbox below the service's own, whose limits hold for all of it."
		       " It needs DeviceAllow=/dev/fuse rw where DevicePolicy=closed is set. These must not be there: RestrictNamespaces=,"
		       " PrivateDevices=, ProtectKernelTunables=, ProtectKernelLogs=, AppArmorProfile=, a SystemCallFilter= without @mount and"
		       " @sandbox, a RestrictAddressFamilies= without AF_UNIX and AF_NETLINK. A tool library needs a writable place:"
		       " StateDirectory=cordon and Environment=XDG_DATA_HOME=%S/cordon, or ReadWritePaths=." },
	{ "A command of a user", "systemd-run --user --scope -p Delegate=yes cordon run ... gives it a cgroup of its own. cordon must be the only"
				 " process of the scope; where others are in the caller's cgroup, a watchdog holds the memory." },
};

static const struct { const char *id, *pattern; } secrets[] = {
#define SECRET(id, pattern, what) { id, pattern },
#define SECRET_FILE(id, pattern, content, what) { id, pattern " (if it holds " what ")" },
#define ORDINARY(pattern, what)
#include "fs/view/secrets.def"
};

static const struct failure_text {
	const char *name, *meaning, *remedy;
} failures[] = {
#define FAILURE(id, name, meaning, remedy) { name, meaning, remedy },
#include "isolate/base/failures.def"
#undef FAILURE
};

/* Prints length bytes as text: no request at the start of a line, no backslash read, every dash and quote the plain ASCII one. */
static void man_bytes(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		switch (text[i]) {
		case '\\':
			fputs("\\e", stdout);
			break;
		case '-':
			fputs("\\-", stdout);
			break;
		case '\'':
			fputs("\\(aq", stdout);
			break;
		case '`':
			fputs("\\(ga", stdout);
			break;
		case '"':
			fputs("\\(dq", stdout);
			break;
		case '^':
			fputs("\\(ha", stdout);
			break;
		case '~':
			fputs("\\(ti", stdout);
			break;
		case '.':
			fputs(i == 0 ? "\\&." : ".", stdout);
			break;
		default:
			putchar(text[i]);
		}
	}
}

static void man_text(const char *text)
{
	man_bytes(text, strlen(text));
}

/* Prints the lines of text, `between` after each but the last. */
static void man_lines(const char *text, const char *between)
{
	for (;;) {
		size_t length = strcspn(text, "\n");

		man_bytes(text, length);
		putchar('\n');
		if (text[length] == '\0')
			return;
		fputs(between, stdout);
		text += length + 1;
	}
}

static void print_head(void)
{
	printf(".TH CORDON 1 \"\" \"cordon %s\" \"User Commands\"\n", PACKAGE_VERSION);
	puts(".SH NAME\ncordon \\- validate and run generated code in Linux namespaces\n.SH SYNOPSIS");
	for (size_t i = 0; i < command_text_count; i++) {
		const struct command_text *command = &command_texts[i];
		const char *line = command->usage;

		for (;;) {
			size_t length = strcspn(line, "\n");

			printf("%s.B cordon %s\n", i == 0 && line == command->usage ? "" : ".br\n", command->name);
			man_bytes(line, length);
			putchar('\n');
			if (line[length] == '\0')
				break;
			line += length + 1;
		}
	}
	puts(".br\n.B cordon help\n[COMMAND]\n.br\n.B cordon \\-\\-version");
	puts(".SH DESCRIPTION\n"
		".B cordon\n"
		"validates and runs code that a model wrote, or any command, inside Linux namespaces that an ordinary user can make.\n"
		"It needs no daemon, no setuid program and no container engine.\n"
		"Every execution ends in exactly one result record, which says what the code did and what really held it.\n"
		".PP\n"
		"Namespaces share the host\\(aqs kernel. They are good against accidents, leaks and most injected code, and not against an attack on the kernel itself.");
}

static void print_commands(void)
{
	puts(".SH COMMANDS");
	for (size_t i = 0; i < command_text_count; i++) {
		printf(".TP\n.B %s\n", command_texts[i].name);
		man_lines(command_texts[i].description, ".IP\n");
	}
}

static void print_defaults(const struct option_row *row)
{
	const char *run = row->commands & FOR_RUN ? row->default_run : NULL;
	const char *other = row->commands & ~(unsigned)(FOR_RUN | NOT_IN_PROFILE) ? row->default_other : NULL;
	char names[64];

	if (run && other && strcmp(run, other) != 0) {
		printf("Default: ");
		man_text(run);
		printf(" for run, ");
		man_text(other);
		printf(" for %s.\n", option_commands(row->commands & ~(unsigned)FOR_RUN, names, sizeof names));
	} else if (run || other) {
		printf("Default: ");
		man_text(run ? run : other);
		puts(".");
	}
}

static void print_options(void)
{
	puts(".SH OPTIONS\n"
		"The first word that is no option ends the options, and so does\n.BR \\-\\- .\n"
		"Long options may be shortened as long as they stay distinct.\n"
		"A value that is out of range or not understood is a usage error; nothing runs then.");
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		char text[96];

		fputs(".TP\n.BI \\-\\-", stdout);
		man_text(row->name);
		if (row->argument) {
			fputs(" \" ", stdout);
			man_text(row->argument);
			putchar('"');
		}
		printf("\n%c", toupper((unsigned char)row->help[0]));
		man_text(row->help + 1);
		puts(".");
		if (option_range(row, text, sizeof text)[0]) {
			printf("%c", toupper((unsigned char)text[0]));
			man_text(text + 1);
			puts(".");
		}
		print_defaults(row);
		printf("(%s)\n", option_commands(row->commands, text, sizeof text));
	}
}

static void print_profiles(void)
{
	puts(".SH PROFILES\n"
		"A profile is a JSON object (strict RFC 8259, at most 1 MiB) whose keys are the long names of options. "
		"Numbers are numbers, flags are true or false, lists are arrays of strings,\n.B env\n"
		"is an object of strings (or an array of K=V), and each item of\n.B ro\n"
		"is a string as on the command line or an object with\n.B source\nand\n.BR target .\n"
		"Unknown keys are refused. An option which the command at hand does not have is checked and left out, so that one profile can serve several "
		"commands. These belong on the command line only:");
	for (size_t i = 0, first = 1; i < option_row_count; i++) {
		if (!(option_rows[i].commands & NOT_IN_PROFILE))
			continue;
		fputs(first ? "" : ",\n", stdout);
		man_text(option_rows[i].name);
		first = 0;
	}
	puts(".\n.PP\nExample:\n.PP\n.RS 4\n.nf\n"
		"{ \\(dqtimeout\\(dq: 2.5, \\(dqmemory\\(dq: 256, \\(dqallow\\(dq: [\\(dqjson\\(dq, \\(dqre\\(dq],\n"
		"  \\(dqenv\\(dq: { \\(dqTZ\\(dq: \\(dqUTC\\(dq } }\n.fi\n.RE");
}

static void print_view(void)
{
	puts(".SH THE VIEW\nWhat is named with\n.B \\-\\-ro\nor\n.B \\-\\-scratch\nis shown through FUSE, read\\-only and without what is hidden. Hidden means absent, in listings too, and under every name.");
	for (size_t i = 0; i < sizeof view_texts / sizeof *view_texts; i++) {
		printf(".TP\n.B ");
		man_text(view_texts[i].head);
		putchar('\n');
		man_text(view_texts[i].text);
		putchar('\n');
	}
	puts(".PP\nThese are hidden unless they are named exactly or\n.B \\-\\-no\\-default\\-hide\nis given; events call them\n.BR secret: NAME:");
	for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
		bool again = i > 0 && strcmp(secrets[i].id, secrets[i - 1].id) == 0;

		if (!again) {
			printf("%s.TP\n.B ", i ? "\n" : "");
			man_text(secrets[i].id);
			putchar('\n');
		} else {
			fputs(",\n", stdout);
		}
		man_text(secrets[i].pattern);
	}
	putchar('\n');
}

static void print_record(void)
{
	puts(".SH RESULT RECORD\nOne JSON object on one line. A JSON Schema of it is installed as record.schema.json.");
	for (size_t i = 0; i < field_text_count; i++) {
		printf(".TP\n.BR ");
		man_text(field_texts[i].name);
		printf(" \" (%s)\"\n%c", field_texts[i].type, toupper((unsigned char)field_texts[i].meaning[0]));
		man_text(field_texts[i].meaning + 1);
		puts(".");
	}
}

static void print_event_fields(const struct event_type_text *type)
{
	const struct event_field_text *field;
	const char *at = type->fields;
	int optional, count = 0;

	while ((field = event_next_field(&at, &optional))) {
		fputs(count++ ? ", " : "Fields: ", stdout);
		man_text(field->name);
		fputs(optional ? " (not always)" : "", stdout);
	}
	puts(count ? "." : "");
}

static void print_events(void)
{
	puts(".SH EVENTS\n"
		"What happens during an execution is told as CloudEvents 1.0, one JSON object a line, by\n.B \\-\\-events\nand by the daemon.\n"
		"The attribute\n.B sequence\ncounts up by one, so a gap shows what was dropped;\n.B subject\nis the execution_id, or tool:USER/NAME for what concerns a tool and no execution.\n"
		"Text is UTF\\-8 in which other bytes became U+FFFD; a field of bytes then has a second one beside it, its name ending in _b64.\n"
		"A JSON Schema is installed as event.schema.json.\n"
		"The daemon\\(aqs log is rotated by size. Decisions about tools (promotion_pending, promoted, rejected, revoked,\n"
		"forgotten) also stand in decisions.ndjson beside it (FILE.decisions beside a log of another name), which is\n"
		"never rotated away;\n.B cordon events\nreads both.\n"
		"What the daemon's log has no room for on a full disk is counted there as soon as there is room (events.dropped). A daemon that is killed before that cannot say how many: the next one goes on after the last "
		"number in the log, so numbers that were told to subscribers meanwhile are given once more.\n"
		".PP\n"
		"Order: the events of one channel, that is each stream of output, the view, "
		"the filter and the processes, come in order. Across channels a reader sorts "
		"by\n"
		".B time\n"
		"within a small window, as the console does (200 milliseconds): it is when "
		"the view answered, when a call reached the supervisor, when PID 1 looked, "
		"and for output and the end of a process when the supervisor read it. The "
		"start of a process comes before every event that names it, though what its "
		"loader opened may have an earlier time; sandbox.executed comes last.\n"
		".PP\n"
		"What can be missed: a process shows at once when it uses the C library "
		"(glibc), which calls set_robust_list(2) first thing (not between vfork(2) "
		"and execve(2)), when it makes a call that is told, and when the view is "
		"asked for a file by it; another one when PID 1 looks at /proc, every 20 "
		"milliseconds and when the program has ended, and if it is gone by then, "
		"never; so, too, when hundreds are left then that nobody has seen and the "
		"supervisor does not get through them in a third of a second. How a process "
		"ended is known while its parent has not collected it, or from Linux 6.15 on;"
		" not of more processes at once than half of the caller\\(aqs open files "
		"(ulimit -n). A repeated open, refusal or call is told once a second with its"
		" count, which for files may come after the end of the process. An address "
		"outside is told with its process when it is given to connect(2), sendto(2), "
		"sendmsg(2) or sendmmsg(2) and may be read there; else the "
		"kernel\\(aqs count is read four times a second. Neither is told where another program above cordon has the listener of the system call filter; "
		"sandbox.executed then does not list syscalls as observed.\n"
		".PP\n"
		"What watching changes for a program: a fork costs some tenths of a millisecond more, and these four calls some ten microseconds. A signal whose handler does not restart calls (SA_RESTART; Python sets none such) and that comes "
		"in the microseconds before the supervisor has taken the call makes it fail with EINTR, which is rare but more than never; Python then takes a connect(2) for begun that was not. A filter of the program\\(aqs own that answers one of them with SECCOMP_RET_TRACE is passed "
		"over; it stops nothing but itself, since cordon\\(aqs own refusals outrank both.");
	for (int i = 0; i < EVENT_TYPES; i++) {
		printf(".TP\n.B ");
		man_text(event_types[i].name);
		printf("\n%c", toupper((unsigned char)event_types[i].meaning[0]));
		man_text(event_types[i].meaning + 1);
		fputs(" (from the ", stdout);
		man_text(event_types[i].emitter);
		puts(").");
		print_event_fields(&event_types[i]);
	}
	puts(".PP\nTheir fields:");
	for (int i = 0; i < EVENT_FIELDS; i++) {
		printf(".TP\n.B ");
		man_text(event_fields[i].name);
		printf("\n%c", toupper((unsigned char)event_fields[i].meaning[0]));
		man_text(event_fields[i].meaning + 1);
		puts(".");
	}
}

static void print_tools(void)
{
	static const struct { const char *word, *meaning; } states[] = {
#define STATE(id, word, meaning) { word, meaning },
#include "isolate/tools/promotion.def"
#undef STATE
	}, policies[] = {
#define POLICY(id, word, threshold, meaning) { word, meaning },
#include "isolate/tools/promotion.def"
#undef POLICY
	};
	static const char *const keywords[] = {
#define KEYWORD(name, kind, member) name,
#include "isolate/tools/schema_keywords.def"
#undef KEYWORD
	};

	puts(".SH TOOLS\n"
		"A generated tool is a specification (tool.schema.json): name, description, parameters, implementation, allowed_imports, timeout_s and memory_mb. It is kept in the library of a user, "
		"the file tools.sqlite in a directory of the user\\(aqs id below $XDG_DATA_HOME/cordon/users, as a version that is never overwritten. A specification that differs in anything from the newest "
		"version is a new version, and puts one that was in trial or pending out of the running.\n"
		".PP\n"
		"Its code hash is the SHA\\-256 of implementation, imports and parameters in a canonical form; calls are counted for each hash. A version has one of these states:");
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		printf(".TP\n.B %s\n", states[i].word);
		man_text(states[i].meaning);
		puts(".");
	}
	puts(".PP\nand becomes permanent by one of these policies. A version that is spawned without one has that of the version before it, so that a respawn is no way round an operator:");
	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
		printf(".TP\n.B %s\n", policies[i].word);
		man_text(policies[i].meaning);
		puts(".");
	}
	puts(".PP\nTo promote, reject, revoke, forget, export and import takes the scope operator. At the control socket, and on the command line, that is the user whose files these are, or root. "
		"Every decision is an event and a row of the history: who, when, which version and hash, and why.\n"
		".PP\nOf JSON Schema 2020\\-12 parameters may use");
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
		fputs(i ? ", " : "", stdout);
		man_text(keywords[i]);
	}
	puts(". Any other keyword is an error where the tool is spawned. Numbers are compared as the decimals that were written, of any length. $ref leads to # or #/$defs/NAME, $defs stands at the "
		"root; format and other notes decide nothing; a pattern is PCRE2\\(aqs with the meanings of ECMA\\-262 switched on.");
}

static void print_protocol(void)
{
	static const struct { const char *name, *params, *meaning; } methods[] = {
#define METHOD(id, name, params, meaning) { name, params, meaning },
#include "isolate/daemon/methods.def"
#undef METHOD
	};

	puts(".SH CONTROL PROTOCOL\n"
		"The daemon\\(aqs socket speaks JSON\\-RPC 2.0, one object a line of at most 4 MiB, without batches. Parameters are an object; unknown ones are refused.\n"
		"program is an object: kind (command, script, body), argv, or text (text_b64 where it is no UTF\\-8) and name.\n"
		"options is a profile. With streams, three descriptors come along with the request (SCM_RIGHTS) and become the program\\(aqs.\n"
		"Errors of cordon itself have the code \\-32000 and the failure record as their data (for tool_refused with the record of the validation beside it); \\-32001 is too much at one time, \\-32002 an execution that does not exist.");
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		printf(".TP\n.B ");
		man_text(methods[i].name);
		printf("\n%c", toupper((unsigned char)methods[i].meaning[0]));
		man_text(methods[i].meaning + 1);
		puts(".");
		if (*methods[i].params) {
			fputs("Parameters, those in brackets optional: ", stdout);
			man_text(methods[i].params);
			puts(".");
		}
	}
}

/* "C-d, PageDown" for "<C-d> <PageDown>". */
static void print_keys_of(const char *keys)
{
	for (bool first = true; *keys; first = false) {
		size_t length = strcspn(keys, " ");
		bool named = length > 2;

		fputs(first ? "" : ", ", stdout);
		man_bytes(keys + named, length - 2 * named);
		keys += length;
		keys += strspn(keys, " ");
	}
}

static void print_console(void)
{
	static const struct { const char *name, *keys, *help; } keys[] = {
#define KEY(id, name, keys, where, label, help) { name, keys, help },
#include "tui/draw/keys.def"
#undef KEY
	};

	puts(".SH CONSOLE\n"
		"Not every key works in every view; the line at the bottom and the help of\n.B ?\nsay which do. An action can be typed by its name after a colon.\n"
		"In a question every key but\n.B y\nmeans no, and what was typed before it was there is thrown away.\n"
		".PP\n"
		"With\n.B \\-\\-script\nkeys come from a file and the picture stays in memory: a line is keys, such as j or <Enter>; one that begins with a colon is a command, of which\n"
		".BR \":wait TEXT\" ,\n.BR \":events N\" ,\n.B :settle\n(the daemon has answered everything),\n.B \":resize COLUMNSxROWS\"\nand\n.B \":save\\-display FILE\"\nare for scripts.");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		puts(".TP");
		fputs(".BR \"", stdout);
		print_keys_of(keys[i].keys);
		fputs("\" \" (", stdout);
		man_text(keys[i].name);
		printf(")\"\n%c", toupper((unsigned char)keys[i].help[0]));
		man_text(keys[i].help + 1);
		puts(".");
	}
}

static void print_statuses(void)
{
	puts(".SH EXIT STATUS");
	for (size_t i = 0; i < status_text_count; i++) {
		char names[64];

		if (i == 0 || strcmp(status_texts[i].status, status_texts[i - 1].status) != 0) {
			fputs(".TP\n.B ", stdout);
			man_text(status_texts[i].status);
			putchar('\n');
		} else {
			puts(".br");
		}
		printf("%s: ", option_commands(status_texts[i].commands, names, sizeof names));
		man_text(status_texts[i].meaning);
		puts(".");
	}
}

static void print_failures(void)
{
	puts(".SH FAILURE CODES\n"
		"A failure of cordon itself (exit status 125) has one of these short names, the same on the command line, in records, in the library and in\n"
		".BR \"cordon doctor\" .\nThe names are a promise and may be compared; the words beside them are for people.");
	for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
		fputs(".TP\n.B ", stdout);
		man_text(failures[i].name);
		printf("\n%c", toupper((unsigned char)failures[i].meaning[0]));
		man_text(failures[i].meaning + 1);
		fputs(".\nWhat to do: ", stdout);
		man_text(failures[i].remedy);
		puts(".");
	}
}

static void print_differences(void)
{
	static const struct { const char *what, *inside, *why; } DIFFERENCES[] = {
#define DIFFERENCE(what, inside, why) { what, inside, why },
#include "isolate/man/differences.def"
#undef DIFFERENCE
	};

	puts(".SH WHAT DIFFERS INSIDE\nPrograms run inside as outside but for these differences of the tier\n.BR namespace ,\neach with its reason.");
	for (size_t i = 0; i < sizeof DIFFERENCES / sizeof *DIFFERENCES; i++) {
		fputs(".TP\n.B ", stdout);
		man_text(DIFFERENCES[i].what);
		putchar('\n');
		man_text(DIFFERENCES[i].inside);
		fputs(":\n", stdout);
		man_text(DIFFERENCES[i].why);
		puts(".");
	}
}

static void print_containers(void)
{
	puts(".SH CONTAINERS AND SERVICES\nWhat a sandbox is made of is often refused inside a container or a service.\n"
		".B cordon doctor\nsays what is. These settings work:");
	for (size_t i = 0; i < sizeof container_texts / sizeof *container_texts; i++) {
		printf(".TP\n.B ");
		man_text(container_texts[i].head);
		putchar('\n');
		man_text(container_texts[i].text);
		putchar('\n');
	}
}

static void print_foot(void)
{
	puts(".SH ENVIRONMENT\n"
		".TP\n.B PATH\nwhere the interpreter is looked up. Inside the sandbox it has a value of its own.\n"
		".TP\n.B CORDON_LIBEXECDIR\nthe directory that holds cordon\\-init and the runner, when it is not the one that cordon was installed with.\n"
		".PP\nNothing of the caller\\(aqs environment reaches the program but what\n.B \\-\\-env\nand\n.B \\-\\-inherit\\-env\nname.");
	puts(".SH EXAMPLES");
	for (size_t i = 0; i < command_text_count; i++) {
		printf(".TP\n");
		printf("%c", toupper((unsigned char)command_texts[i].summary[0]));
		man_text(command_texts[i].summary + 1);
		puts(":\n.nf");
		man_lines(command_texts[i].example, "");
		puts(".fi");
	}
	puts(".SH SEE ALSO\n.BR namespaces (7),\n.BR user_namespaces (7),\n.BR seccomp (2),\n.BR cgroups (7),\n.BR unshare (1)");
}

int main(void)
{
	print_head();
	print_commands();
	print_options();
	print_profiles();
	print_view();
	print_record();
	print_events();
	print_tools();
	print_protocol();
	print_console();
	print_statuses();
	print_failures();
	print_differences();
	print_containers();
	print_foot();
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
