/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all processes of a sandbox use together, read from /proc by its PID 1.
 *
 * Memory is summed at each look; pages that processes share are counted once for each, so what is
 * beyond a limit is summed again by the proportional sizes, which are exact but cost more to read.
 */
#ifndef CORDON_ISOLATE_INIT_USAGE_H
#define CORDON_ISOLATE_INIT_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define USAGE_INTERVAL_NS 20000000L /* 20 ms: at 2 GB/s a program gets 40 MB past its limit */

struct usage_totals {
	uint64_t bytes;     /* of memory; UINT64_MAX when some of it cannot be read */
	uint32_t processes; /* threads each count */
};

/*
 * Looks at every process but the caller: all that /proc shows when the caller is PID 1 of its
 * namespace, else all descendants of the caller (it must be their subreaper). Returns 0, or -1 with
 * errno when /proc cannot be read.
 */
int usage_read(bool whole_namespace, struct usage_totals *totals);

/*
 * What the same processes, so many, hold by their proportional sizes, in bytes. System V memory can
 * be among the mapped shared memory, so the larger of the two sums counts: a program that has both
 * apart holds at most twice the limit.
 */
uint64_t usage_exact_memory(bool whole_namespace, uint32_t processes);

/* Calls act for each of those processes. Returns 0, or -1 with errno when /proc cannot be read. */
int usage_each_process(bool whole_namespace, void (*act)(void *context, pid_t pid), void *context);

/* Sends SIGSTOP or SIGCONT to each of them. */
void usage_signal_all(bool whole_namespace, int number);

/* Sends SIGKILL to every process that usage_read would count. Returns how many. */
unsigned usage_kill_all(bool whole_namespace);

/*
 * How much memory a process, and the System V IPC of a namespace, hold: proc_pid_status(5),
 * proc_pid_smaps(5), proc_sysvipc(5).
 */

struct process_memory {
	uint64_t
		bytes; /* anonymous, shared, swapped and huge pages, and page tables; no pages of files */
	uint32_t threads; /* that the process has; 0 when it is gone */
};

/*
 * Reads what a process holds; nothing for one that runs on its parent's memory, where that is
 * counted. bytes is UINT64_MAX for a process that is alive and cannot be read.
 */
void process_memory_read(pid_t pid, struct process_memory *memory);

/*
 * The same with a share of each page that others have mapped, too (proportional set size), which
 * costs more to read; what process_memory_read gives where the kernel gives no number. Returns
 * bytes, and adds those of them that are shared memory to *shared.
 */
uint64_t process_memory_share(pid_t pid, uint64_t *shared);

/*
 * Memory of the System V IPC objects of the caller's namespace, attached or not, in bytes.
 * UINT64_MAX when there are more objects (some 1,500) than are read at one look: reading all of
 * them would take PID 1's time. processes: how many there are, since each may have undo records of
 * each semaphore.
 */
uint64_t process_memory_ipc(uint32_t processes);

#endif
