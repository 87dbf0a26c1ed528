/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal. See screen.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/screen.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/json_write.h"
#include "isolate/base/text.h"
#include "tui/draw/keys.h"
#include "tui/draw/screen_crash.h"

#define SIZE_MOST 1000 /* lines or columns */

static struct {
	SCREEN *screen;
	FILE *tty; /* where keys come from, when that is not standard input */
	int fd;
	int idle_reads;
	struct cells shown; /* the picture on the terminal */
	enum theme theme;
} S = { .fd = -1, .shown = CELLS_INIT };

/*
 * Colours are the terminal's first eight, on its own background. Light backgrounds swallow yellow.
 */
static const struct {
	short colour[2];
	attr_t attributes;
} STYLES[STYLE_COUNT] = {
	[STYLE_PLAIN] = { { -1, -1 }, A_NORMAL },
	[STYLE_TITLE] = { { -1, -1 }, A_REVERSE },
	[STYLE_HEAD] = { { -1, -1 }, A_BOLD | A_UNDERLINE },
	[STYLE_GOOD] = { { COLOR_GREEN, COLOR_GREEN }, A_NORMAL },
	[STYLE_WARN] = { { COLOR_YELLOW, COLOR_MAGENTA }, A_NORMAL },
	[STYLE_DENY] = { { COLOR_RED, COLOR_RED }, A_BOLD },
	[STYLE_FAINT] = { { COLOR_CYAN, COLOR_BLUE }, A_NORMAL },
	[STYLE_KEY] = { { -1, -1 }, A_BOLD },
	[STYLE_FOUND] = { { -1, -1 }, A_REVERSE | A_BOLD },
	[STYLE_PLOT] = { { COLOR_GREEN, COLOR_BLUE }, A_NORMAL },
};

/* ---- standard error while the screen is up ---- */

/* A memory file takes any amount without a reader, so that no writer blocks. */

#define STDERR_MOST 65536 /* bytes that are shown after the end, the last ones */

static int stderr_before = -1, stderr_kept = -1;

static void stderr_keep(void)
{
	stderr_kept = memfd_create("stderr", MFD_CLOEXEC);
	if (stderr_kept < 0)
		return;
	fcntl(stderr_kept, F_SETFL, O_APPEND);
	stderr_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (stderr_before >= 0)
		dup2(stderr_kept, STDERR_FILENO);
}

static void stderr_release(void)
{
	_cleanup_buffer_ struct buffer visible = BUFFER_INIT;
	_cleanup_free_ char *text = malloc(STDERR_MOST);
	struct stat st;
	ssize_t got = 0;

	if (stderr_before >= 0) {
		dup2(stderr_before, STDERR_FILENO);
		close(stderr_before);
		if (text && fstat(stderr_kept, &st) == 0 && st.st_size > 0)
			got = pread(stderr_kept, text, STDERR_MOST,
				st.st_size > STDERR_MOST ? st.st_size - STDERR_MOST : 0);
	}
	if (got > 0) {
		text_visible(&visible, text, (size_t)got, TEXT_LINES);
		if (!visible.failed)
			got = write(STDERR_FILENO, visible.data, visible.length);
	}
	if (stderr_kept >= 0)
		close(stderr_kept);
	stderr_before = stderr_kept = -1;
}

/* ---- the screen ---- */

bool screen_is_possible(void)
{
	const char *term = getenv("TERM");
	int fd;

	if (!isatty(STDOUT_FILENO) || !term || !*term || strcmp(term, "dumb") == 0)
		return false;
	if (isatty(STDIN_FILENO))
		return true;
	fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool is_light(void)
{
	const char *colours = getenv("COLORFGBG"), *last = colours ? strrchr(colours, ';') : NULL;

	return last && (strcmp(last, ";7") == 0 || strcmp(last, ";15") == 0);
}

void screen_theme(enum theme theme)
{
	const char *refused = getenv("NO_COLOR");

	if (theme == THEME_AUTO)
		theme = refused && *refused ? THEME_MONO : is_light() ? THEME_LIGHT : THEME_DARK;
	S.theme = has_colors() ? theme : THEME_MONO;
	for (short style = 0; S.theme != THEME_MONO && style < STYLE_COUNT; style++)
		init_pair((short)(style + 1), STYLES[style].colour[S.theme == THEME_LIGHT], -1);
	screen_redraw();
}

static void set_modes(void)
{
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	meta(stdscr, TRUE);
	intrflush(stdscr, FALSE);
	typeahead(-1);
	curs_set(0);
}

/*
 * ncurses prefers LINES and COLUMNS to the size that the terminal reports; sizes that no terminal
 * has are removed from the environment.
 */
static void check_size_of_environment(void)
{
	static const char *const NAMES[] = { "LINES", "COLUMNS" };

	for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
		const char *text = getenv(NAMES[i]);
		long size = text ? strtol(text, NULL, 10) : 1;

		if (size < 1 || size > SIZE_MOST)
			use_env(FALSE);
	}
}

int screen_open(enum theme theme, struct error *err)
{
	FILE *in = stdin;

	if (!isatty(STDIN_FILENO))
		in = S.tty = fopen("/dev/tty", "r+e");
	if (!in)
		return error_set(
			err, FAILURE_PATH_MISSING, errno, "opening /dev/tty to read keys from");
	S.fd = fileno(in);
	screen_crash_prepare(S.fd);
	set_escdelay(25);
	check_size_of_environment();
	S.screen = newterm(NULL, stdout, in);
	if (!S.screen) {
		if (S.tty)
			fclose(S.tty);
		S.tty = NULL;
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"the terminal's kind (TERM) is not known here; --plain needs none");
	}
	set_modes();
	start_color();
	use_default_colors();
	screen_crash_arm();
	stderr_keep();
	screen_theme(theme);
	return 0;
}

/*
 * A terminal that is not read takes nothing, and ncurses blocks in write(2) until it does.
 * Signals that end the console do so at once meanwhile (screen_crash.c puts the terminal back).
 */
static void let_signals_end(bool at_once)
{
	static const int ENDS[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	sigset_t ends;

	sigemptyset(&ends);
	for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++)
		sigaddset(&ends, ENDS[i]);
	sigprocmask(at_once ? SIG_UNBLOCK : SIG_BLOCK, &ends, NULL);
}

bool screen_takes(void)
{
	struct pollfd out = { STDOUT_FILENO, POLLOUT, 0 };

	return poll(&out, 1, 0) != 0;
}

void screen_close(bool hurry)
{
	bool takes_nothing = hurry && !screen_takes();

	if (!S.screen)
		return;
	if (takes_nothing) {
		screen_crash_put_back();
	} else {
		let_signals_end(true);
		clear();
		refresh();
		endwin();
		let_signals_end(false);
	}
	screen_crash_disarm();
	delscreen(S.screen);
	S.screen = NULL;
	if (S.tty)
		fclose(S.tty);
	S.tty = NULL;
	S.fd = -1;
	cells_free(&S.shown);
	if (!takes_nothing)
		stderr_release();
}

int screen_fd(void)
{
	return S.fd;
}

static uint32_t translate(wint_t typed, bool special)
{
	static const struct {
		int curses;
		uint32_t key;
	} SPECIAL[] = {
		{ KEY_UP, KEYS_UP },
		{ KEY_DOWN, KEYS_DOWN },
		{ KEY_LEFT, KEYS_LEFT },
		{ KEY_RIGHT, KEYS_RIGHT },
		{ KEY_HOME, KEYS_HOME },
		{ KEY_END, KEYS_END },
		{ KEY_PPAGE, KEYS_PAGE_UP },
		{ KEY_NPAGE, KEYS_PAGE_DOWN },
		{ KEY_ENTER, KEYS_ENTER },
		{ KEY_BACKSPACE, KEYS_BACKSPACE },
		{ KEY_DC, KEYS_DELETE },
		{ KEY_BTAB, KEYS_BACK_TAB },
		{ KEY_F(1), KEYS_F1 },
	};

	if (!special)
		return typed == '\n'    ? KEYS_ENTER
			: typed == '\b' ? KEYS_BACKSPACE
					: (uint32_t)typed;
	for (size_t i = 0; i < sizeof SPECIAL / sizeof *SPECIAL; i++)
		if ((wint_t)SPECIAL[i].curses == typed)
			return SPECIAL[i].key;
	return KEY_NONE_HERE;
}

bool screen_key(uint32_t *key, bool *gone)
{
	struct pollfd tty = { S.fd, POLLIN, 0 };
	wint_t typed;
	int kind;

	for (;;) {
		kind = get_wch(&typed);
		if (kind == ERR)
			break;
		S.idle_reads = 0;
		*key = translate(typed, kind == KEY_CODE_YES);
		if (*key != KEY_NONE_HERE)
			return true;
	}
	/*
	 * poll(2) reports input again and again, read(2) finds none: the terminal has hung up.
	 */
	if (poll(&tty, 1, 0) > 0 &&
		((tty.revents & (POLLHUP | POLLERR | POLLNVAL)) || ++S.idle_reads > 20))
		*gone = true;
	return false;
}

void screen_forget_keys(void)
{
	if (S.screen)
		flushinp();
}

void screen_measure(int *rows, int *columns)
{
	struct winsize size = { 24, 80, 0, 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
		size.ws_row = (unsigned short)(LINES > 0 ? LINES : 24);
		size.ws_col = (unsigned short)(COLS > 0 ? COLS : 80);
	}
	*rows = size.ws_row;
	*columns = size.ws_col;
	if (size.ws_row != LINES || size.ws_col != COLS)
		resize_term(size.ws_row, size.ws_col);
	screen_redraw();
}

static void send_row(const struct cells *c, int row)
{
	static cchar_t line[CELLS_COLUMNS_MAX + 1];
	int used = 0;

	for (int column = 0; column < c->columns; column++) {
		const struct cell *cell = &c->at[row * c->columns + column];
		unsigned style = cell->style & 0x3f;
		attr_t attributes = STYLES[style].attributes;
		wchar_t text[CELLS_COMBINING + 2] = { 0 };

		if (cell->text[0] == 0)
			continue;
		for (int i = 0; i <= CELLS_COMBINING; i++)
			text[i] = (wchar_t)cell->text[i];
		attributes |= cell->style & STYLE_SELECTED ? A_REVERSE : A_NORMAL;
		attributes |= cell->style & STYLE_MARKED ? A_BOLD : A_NORMAL;
		setcchar(&line[used++], text, attributes,
			S.theme == THEME_MONO ? 0 : (short)(style + 1), NULL);
	}
	mvadd_wchnstr(row, 0, line, used);
}

void screen_redraw(void)
{
	cells_free(&S.shown);
	if (S.screen)
		clearok(curscr, TRUE);
}

void screen_show(const struct cells *c, int cursor_row, int cursor_column)
{
	size_t width = (size_t)c->columns * sizeof *c->at;
	bool whole = S.shown.rows != c->rows || S.shown.columns != c->columns;

	if (!c->at || c->columns == 0)
		return;
	if (whole) {
		erase();
		cells_resize(&S.shown, c->rows, c->columns);
	}
	for (int row = 0; row < c->rows && S.shown.at; row++) {
		struct cell *before = &S.shown.at[row * c->columns];

		if (!whole && memcmp(before, &c->at[row * c->columns], width) == 0)
			continue;
		memcpy(before, &c->at[row * c->columns], width);
		send_row(c, row);
	}
	curs_set(cursor_row >= 0);
	if (cursor_row >= 0)
		move(cursor_row, cursor_column);
	wnoutrefresh(stdscr);
	let_signals_end(true);
	doupdate();
	let_signals_end(false);
}

void screen_bell(void)
{
	if (S.screen)
		beep();
}

void screen_suspend(void)
{
	struct sigaction normal = { .sa_handler = SIG_DFL }, before;
	sigset_t stop, mask;

	if (!S.screen)
		return;
	def_prog_mode();
	endwin();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigaction(SIGTSTP, &normal, &before);
	sigprocmask(SIG_UNBLOCK, &stop, &mask);
	kill(getpid(), SIGTSTP); /* here it stops */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGTSTP, &before, NULL);
	reset_prog_mode();
	set_modes();
	refresh();
	screen_redraw();
}
