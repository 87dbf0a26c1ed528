/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a process, and the System V IPC of a namespace, hold: proc_pid_status(5), proc_pid_smaps(5), proc_sysvipc(5). */
#ifndef CORDON_ISOLATE_INIT_PROCESS_MEMORY_H
#define CORDON_ISOLATE_INIT_PROCESS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

struct process_memory {
	uint64_t bytes;   /* resident, swapped and huge pages, and page tables */
	uint32_t threads; /* that the process has; 0 when it is gone */
};

/*
 * Reads what a process holds; nothing for one that runs on its parent's memory, where that is counted.
 * bytes is UINT64_MAX for a process that is alive and cannot be read.
 */
void process_memory_read(pid_t pid, struct process_memory *memory);

/*
 * The same with a share of each page that others have mapped, too (proportional set size), which costs more
 * to read; what process_memory_read gives where the kernel does not tell. Returns bytes, and adds those of
 * them that are shared memory to *shared.
 */
uint64_t process_memory_share(pid_t pid, uint64_t *shared);

/*
 * Memory of the System V IPC objects of the caller's namespace, attached or not, in bytes. UINT64_MAX when
 * there are more objects (some 1,500) than are read at one look: reading all of them would take PID 1's time.
 * processes: how many there are, since each may have undo records of each semaphore.
 */
uint64_t process_memory_ipc(uint32_t processes);

#endif
