/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of memory: one that a program holds up is replaced, and what it did not read is counted.
 *
 * Pages of userfaultfd(2) that nobody fills hold up whoever reads them, in the kernel and until the descriptor is closed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/monitor/remote_mem_reader.h"
#include "tests/unit/tap.h"

#define PAGES (2 * WITNESS_REPLACED_MOST)

static int standing_pages(char **pages, size_t page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	*pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)*pages;
	range.range.len = PAGES * page;
	if (fd >= 0 && *pages != MAP_FAILED && ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &range) == 0)
		return fd;
	return -1;
}

static bool look(struct witness *w, int socket, const void *address)
{
	struct seccomp_notif call = { .pid = (uint32_t)getpid(), .data = { .nr = SYS_connect } };
	struct outward out = { .port = 0 };

	call.data.args[0] = (uint64_t)socket;
	call.data.args[1] = (uintptr_t)address;
	call.data.args[2] = sizeof(struct sockaddr_in);
	witness_turn(w);
	return witness_address(w, &call, getpid(), &out) && out.port == 80 && strcmp(out.host, "192.0.2.1") == 0;
}

int main(void)
{
	const struct sockaddr_in outside = { .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0xc0000201) };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, held = 0;
	struct witness *w = witness_new(getuid(), getgid());
	char *pages;

	plan(0);
	ok(look(w, s, &outside) && witness_lost(w) == 0, "an address is read");
	fd = standing_pages(&pages, page);
	if (fd < 0) {
		skip(4, "userfaultfd(2) is not allowed to this user");
		witness_free(w);
		return done();
	}
	for (; held < 3; held++)
		ok(!look(w, s, pages + (size_t)held * page) && witness_lost(w) == 1 && look(w, s, &outside), "what is held up is given up and counted, and the next is read");
	while (held < WITNESS_REPLACED_MOST + 1)
		look(w, s, pages + (size_t)held++ * page);
	ok(!look(w, s, &outside) && witness_lost(w) > 0, "but not without end");
	close(fd); /* lets all of them go */
	witness_free(w);
	return done();
}
