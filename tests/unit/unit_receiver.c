/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver of notified calls: it reads their addresses, one that a program holds up is
 * replaced, and what it did not read is counted.
 *
 * Pages of userfaultfd(2) that are never filled hold up a thread that reads them, in the kernel and
 * until the descriptor is closed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/clock.h"
#include "isolate/base/message.h"
#include "isolate/monitor/receiver.h"
#include "tests/unit/tap.h"

#define PAGES (2 * RECEIVER_REPLACED_MOST)

static int standing_pages(char **pages, size_t page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	*pages = mmap(
		NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)*pages;
	range.range.len = PAGES * page;
	if (fd >= 0 && *pages != MAP_FAILED && ioctl(fd, UFFDIO_API, &api) == 0 &&
		ioctl(fd, UFFDIO_REGISTER, &range) == 0)
		return fd;
	return -1;
}

/* A filter that notifies connect(2) and allows all else. */
static int install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* Connects for every byte: 'a' to an address, 'h' to one in a page that stands. */
static void program(int control)
{
	const struct sockaddr_in outside = {
		.sin_family = AF_INET,
		.sin_port = htons(80),
		.sin_addr.s_addr = htonl(0xc0000201),
	};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), listener = install(), held = 0;
	const void *address;
	char *pages, byte;
	int standing = standing_pages(&pages, page);

	if (listener < 0 || message_send(control, standing < 0 ? "-" : "+", 1, &listener, 1) != 0)
		_exit(1);
	close(listener);
	while (recv(control, &byte, 1, 0) == 1) {
		address = &outside;
		if (byte == 'h')
			address = pages + (size_t)held++ * page;
		syscall(SYS_connect, s, address, sizeof outside);
	}
	_exit(0);
}

struct fixture {
	pid_t child;
	int control;
	struct receiver_setup setup;
	struct receiver *receiver;
};

/*
 * Asks for a call, and answers it when it is given; the look is over at once or after its patience.
 */
static struct receiver_call call(struct fixture *f, char kind, int64_t patience_us)
{
	struct receiver_call out = { .was_read = false };
	struct pollfd ready = { receiver_fd(f->receiver), POLLIN, 0 };
	struct seccomp_notif_resp reply = { .error = -EPERM };
	bool is_over = false, has_one = false;

	if (send(f->control, &kind, 1, MSG_NOSIGNAL) != 1)
		exit(2);
	for (int turn = 0; !has_one && !is_over && turn < 2000; turn++) {
		poll(&ready, 1, 5);
		receiver_check(f->receiver, clock_now_us() + patience_us);
		has_one = receiver_take(f->receiver, &out, &is_over);
	}
	reply.id = out.request.id;
	ok(has_one && ioctl(f->setup.listener, SECCOMP_IOCTL_NOTIF_SEND, &reply) == 0,
		"a call is given");
	return out;
}

static bool is_address(const struct receiver_call *c)
{
	return c->kind == WATCHED_ADDRESS && c->was_read && c->found && c->to.port == 80 &&
		strcmp(c->to.host, "192.0.2.1") == 0 && c->time_ns > 0;
}

static bool reads(struct fixture *f)
{
	struct receiver_call c = call(f, 'a', 0);

	return is_address(&c);
}

static bool gives_up(struct fixture *f)
{
	struct receiver_call c = call(f, 'h', 2 * RECEIVER_PATIENCE_MS * 1000);

	return !c.was_read && !c.found && receiver_lost(f->receiver) == 1;
}

static bool open_fixture(struct fixture *f)
{
	int pair[2];
	size_t count;
	char byte = '-';

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		exit(2);
	f->child = fork();
	if (f->child == 0) {
		close(pair[0]);
		program(pair[1]);
	}
	close(pair[1]);
	f->control = pair[0];
	f->setup = (struct receiver_setup){ -1, PROFILE_COMMAND, true, getuid(), getgid() };
	if (message_receive(f->control, &byte, 1, &f->setup.listener, 1, &count) != 1 || count != 1)
		exit(2);
	f->receiver = receiver_new(&f->setup);
	return byte == '+';
}

int main(void)
{
	struct fixture f;
	bool stands, is_over = false;
	struct receiver_call rest;

	plan(0);
	stands = open_fixture(&f);
	ok(reads(&f) && receiver_lost(f.receiver) == 0, "an address is read");
	ok(!receiver_take(f.receiver, &rest, &is_over) && !is_over, "and given once");
	if (stands) {
		for (int held = 0; held < 3; held++)
			ok(gives_up(&f) && reads(&f), "one that is held up is counted");
		for (int held = 3; held < RECEIVER_REPLACED_MOST; held++)
			gives_up(&f);
		ok(!reads(&f) && receiver_lost(f.receiver) == 1, "but not without end");
	} else {
		skip(2, "userfaultfd(2) is not allowed to this user");
	}
	close(f.control);
	waitpid(f.child, NULL, 0); /* lets all of them go */
	for (int turn = 0; !is_over && turn < 2000; turn++) {
		receiver_take(f.receiver, &rest, &is_over);
		poll(NULL, 0, 1);
	}
	ok(is_over, "without a process that could call it is over");
	receiver_free(f.receiver);
	close(f.setup.listener);
	return done();
}
