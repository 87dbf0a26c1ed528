/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of /proc, read whole: proc(5). */
#ifndef CORDON_ISOLATE_BASE_PROC_FILE_H
#define CORDON_ISOLATE_BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads the beginning of a file, at most size - 1 bytes, and ends it with a NUL, also where there
 * is nothing. Returns how many bytes, or -1 with errno.
 */
ssize_t proc_file_read(const char *path, char *text, size_t size);

/*
 * The beginning of a file of a process or thread, read once, below an O_PATH descriptor of /proc,
 * and ended with a NUL, also where there is nothing. To read comm, stat or status needs no lock
 * that a stopped or waiting process could hold.
 */
void proc_file_read_below(int proc, pid_t process, const char *name, char *text, size_t size);

/*
 * The command line of a process with spaces between its words, ended with a NUL. It lies in the
 * process's memory, so reading may wait. Returns its length, or -1 with errno.
 */
ssize_t proc_file_command(pid_t pid, char *text, size_t size);

/* The numeric names of a directory of /proc: processes, threads. No memory is allocated for it. */
struct proc_entries {
	int fd;
	long length, at; /* of what is in block */
	_Alignas(8) char block[4096];
};

/* Returns false with errno. proc_entries_next: the next number, 0 at the end, -1 with errno. */
bool proc_entries_open(struct proc_entries *e, const char *path);
pid_t proc_entries_next(struct proc_entries *e);
void proc_entries_close(struct proc_entries *e);

/*
 * Appends the numbers in a file of children (proc_pid_task_children(5)) to list, up to `most` in
 * all.
 */
void proc_file_children(const char *path, pid_t *list, unsigned *count, unsigned most);

/*
 * Fields of a stat file as proc_pid_stat(5) numbers them. From CPU_FIRST to CPU_LAST: its own and
 * its collected children's time, in user and system mode, in ticks.
 */
enum proc_stat {
	PROC_STAT_PARENT = 4,
	PROC_STAT_FLAGS = 9,
	PROC_STAT_CPU_FIRST = 14,
	PROC_STAT_CPU_LAST = 17,
	PROC_STAT_THREADS = 20,
	PROC_STAT_VIRTUAL = 23,
	PROC_STAT_RESIDENT = 24,
	PROC_STAT_PROCESSOR = 39,
	PROC_STAT_EXIT_CODE = 52
};

/*
 * One of them, of 3 and more, in the text of a stat file; the name before them may hold anything. 0
 * where there is none.
 */
uint64_t proc_stat_field(const char *text, int field);

/*
 * The text of /proc/loadavg: how many processes and threads can run at this moment, the reader
 * included, and the number that was given last to one in the reader's namespace (proc_loadavg(5)).
 * Returns false when it is no such text.
 */
bool proc_loadavg(const char *text, int *running, pid_t *newest);

/*
 * The last number of the NSpid line in the text of a status file: what the process is called in its
 * innermost namespace. *levels (or NULL): how many there are. 0 where there is none.
 */
pid_t proc_status_innermost(const char *text, unsigned *levels);

#endif
