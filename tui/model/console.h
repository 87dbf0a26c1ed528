/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The console's state, and how its parts hang together.
 *
 *   link  ->  log, runs (models)  ->  views draw cells  ->  screen, or a script's picture
 *   keys  ->  actions  ->  prompt, view, console
 *
 * Models never know of views. A view draws from the models when it is asked to and keeps no more
 * than where it stands. Everything runs in one thread, in the loop of loop.c.
 */
#ifndef CORDON_TUI_MODEL_CONSOLE_H
#define CORDON_TUI_MODEL_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/draw/cells.h"
#include "tui/draw/keys.h"
#include "tui/model/link.h"
#include "tui/draw/page.h"
#include "tui/model/log.h"
#include "tui/draw/prompt.h"
#include "tui/model/runs.h"
#include "tui/model/tool_list.h"
#include "tui/model/tui_options.h"

enum view_id {
	VIEW_RUNS,
	VIEW_EVENTS,
	VIEW_OUTPUT,
	VIEW_DETAIL,
	VIEW_PENDING,
	VIEW_TOOLS,
	VIEW_RECORD,
	VIEW_TOOL,
	VIEW_HELP,
	VIEW_COUNT
};
#define COLUMNS_LEAST 40
#define ROWS_LEAST 10
#define TABLE_MAX 4096

struct view {
	enum where where;
	const char *name; /* in the title line; "" for one that only opens over another */
	/* when it becomes the view that is shown; or NULL */
	void (*enter)(struct console *c);
	void (*draw)(struct console *c, int row, int rows);
	bool (*act)(struct console *c, enum action action,
		int rows); /* false: the action is not of this view */
	bool (*find)(struct console *c, const char *text, int direction, bool from_here);
	/* for the line above the bottom */
	void (*status)(struct console *c, struct buffer *out);
	/* the run at its cursor, or NULL; no function: the view shows none */
	struct run *(*run)(struct console *c);
};
extern const struct view *const views[VIEW_COUNT];

/* One row of the table of runs as it is shown: the run by its id, since it may go. */
struct table_row {
	char id[RUN_ID_MAX];
	struct run_text {
		char cells[12][40];
		char program[200];
		enum style style;
	} text;
};

/* Where a list of tools stands: the version by its key. */
struct tool_table {
	struct list list;
	char cursor[TOOL_KEY_MAX], filter[LOG_FILTER_MAX];
};

struct console {
	const struct tui_options *options;
	struct link link;
	struct log *log;
	struct runs *runs;
	struct cells cells;
	struct prompt prompt;
	bool dirty, quit, has_screen;
	bool lost, was_lost;    /* the connection to the daemon; at least once */
	bool leaving;           /* quit when the request is answered */
	bool suspend, redraw;   /* for the loop to do */
	uint64_t last_sequence; /* of the events that were taken */
	uint64_t replayed;      /* events up to this number are older than the console */
	int64_t newest_ns;      /* the time of the newest event */
	bool list_wanted, list_asked;
	int64_t list_at_ms;
	bool pending_wanted, current_wanted, tools_asked;
	/* the last request for a list of tools: when, and how long until its answer was taken */
	int64_t tools_begun_ms, tools_took_ms;
	int64_t rang_ms;
	bool relative; /* times */
	bool frozen;
	uint64_t frozen_events; /* log_next when it was frozen */
	uint64_t frozen_total;
	char message[1600];            /* visible */
	int cursor_row, cursor_column; /* where the terminal's is, -1: nowhere */
	enum style message_style;
	char found[PROMPT_TEXT_MAX]; /* what is searched for */

	enum view_id stack[VIEW_COUNT]; /* open views, each once; the last is shown */
	int depth;
	char run_id[RUN_ID_MAX];   /* the run that Output and Detail are about */
	char acted_id[RUN_ID_MAX]; /* the run that a question is about */

	struct { /* Runs */
		struct list list;
		bool moved; /* else the cursor stays on the first row */
		char cursor_id[RUN_ID_MAX];
		int sort;
		bool turned;
		char filter[LOG_FILTER_MAX];
		struct table_row *rows; /* owned; as shown */
		size_t count;
	} table;
	struct { /* Events */
		struct list list;
		uint64_t cursor, top, seen; /* serials */
		char filter[LOG_FILTER_MAX], subject[RUN_ID_MAX];
		int left;
		size_t marks;
	} stream;
	struct {
		struct page page;
		char id[RUN_ID_MAX];
		uint64_t frozen_lines;
		char title[300];
	} output;
	struct {
		struct page page;
		struct lines head, program, tail;
		char id[RUN_ID_MAX];
		bool stale;
		unsigned program_of;    /* run->answers when its lines were made */
		int plots;              /* rows that plots take at the top */
		struct series cpu, use; /* as shown */
		char title[300], now[2][100];
	} detail;
	struct { /* one event */
		struct page page;
		struct lines lines;
		uint64_t serial;
		char run_id[RUN_ID_MAX]; /* the run that it is of, "": none */
	} record;
	struct {
		struct page page;
		struct lines lines;
	} help;
	struct tools tools;
	struct tool_table pending, current;
	struct { /* one version of a tool */
		struct tool item;
		struct page page;
		struct lines head, source;
		struct buffer shown, history; /* answers of the daemon */
		char source_of[TOOL_KEY_MAX]; /* the version that the source lines are of */
		char about[16];               /* the request that is open */
		unsigned number;
		int64_t asked_ms; /* when, for the last time */
		bool asked, made, complete, stale;
	} tool;
	struct {                    /* the decisions that a question is about */
		struct tool *tools; /* owned */
		size_t count;
		char wanted[16], reason[PROMPT_TEXT_MAX];
		/* how many were sent, and what the daemon answered */
		size_t asked, done, refused;
		char outcomes[1200]; /* of the refused ones; visible */
	} decision;
	struct buffer *answer; /* for the request of tui_options */
	bool answered;
};

/* ---- console.c ---- */
bool console_new(struct console *c, const struct tui_options *options, struct buffer *answer);
void console_free(struct console *c);
void console_key(struct console *c, uint32_t key);
void console_act(struct console *c, enum action action);
/* Opens a view over the one that is shown, to which q leads back. */
void console_open_view(struct console *c, enum view_id id);
enum view_id console_view(const struct console *c);
/* the view of the title line that is shown or lies below */
enum view_id console_base(const struct console *c);
bool console_has_view(const struct console *c, enum view_id id); /* in the title line */
void console_say(struct console *c, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Says once that the connection is lost. Returns true when the console does not connect again,
 * since it shows one run.
 */
bool console_notice_loss(struct console *c);
int64_t console_now_ms(void);
/* now; for a script, when the newest event was */
int64_t console_wall_ns(const struct console *c);

/* The run at the cursor of the view that is shown, or NULL. */
struct run *console_run(struct console *c);

/* ---- frame.c ---- */
void console_draw(struct console *c);
/* rows of a view; a long message or question below takes some */
int console_rows(const struct console *c);
bool console_shows_prompt(const struct console *c); /* the whole of what is asked */

/* ---- requests.c: what goes over the connection ---- */
void console_connected(void *owner);
void console_event(void *owner, struct json_slice event);
void console_ask_list(struct console *c);
void console_ask_program(struct console *c, struct run *run);
void console_control_run(struct console *c, const char *method, const char *id);

/* ---- tool_requests.c ---- */
void console_ask_tools(struct console *c); /* as soon as it is time */
/* sends a request, or reads on in an answer */
void console_step_tools(struct console *c, int64_t now_ms);
/* when console_step_tools has something to do, -1: never */
int64_t console_tools_due_ms(const struct console *c);
/* no list is wanted, asked for or being read */
bool console_has_tools(const struct console *c);
void console_ask_tool(struct console *c);
void console_begin_decisions(struct console *c);
void console_decide(
	struct console *c, const char *method, const struct tool *tool, const char *reason);
void console_tool_event(struct console *c, struct json_slice type, bool is_new);
void console_error_text(struct json_slice error, struct buffer *out);

/*
 * Sends requests that are due; console_due_ms says in how many milliseconds the next one is (-1:
 * none).
 */
void console_ask_wanted(struct console *c, int64_t now_ms);
int console_due_ms(const struct console *c, int64_t now_ms);

/* ---- command.c: what is typed behind ":" ---- */
void command_run(struct console *c, const char *text);

/* ---- files.c: what is written to files ---- */
void files_write(struct console *c, const char *path);
bool files_save_display(struct console *c, const char *path);

/* ---- the modes ---- */
int loop_screen(struct console *c, struct error *err);
int loop_script(struct console *c, struct error *err);
int loop_plain(struct console *c, struct error *err);

#endif
