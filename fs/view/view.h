/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One view: the named trees, what is to be hidden in them, the nodes that the kernel knows, and
 * where events go. What the operations share; one thread at a time uses it.
 */
#ifndef CORDON_FS_VIEW_VIEW_H
#define CORDON_FS_VIEW_VIEW_H

#include "isolate/base/error.h"

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/view/view_event.h"
#include "fs/view/object.h"
#include "fs/view/view_policy.h"
#include "fs/view/node_tree.h"

#define VIEW_TREES_MAX 1024
#define VIEW_BLOCK (1u << 20)              /* most that is read at a time */
#define VIEW_REQUEST (VIEW_BLOCK + 65536u) /* a request with as much to write, and its headers */

/* An entry as getdents64(2) gives it. */
struct raw_entry {
	uint64_t ino;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

/*
 * How long the kernel may answer by itself. A hidden name is never remembered, so that each try is
 * seen.
 */
#define VIEW_TIMEOUT_S 60.0
#define VIEW_ABSENT_TIMEOUT_S 1.0

/* A named tree: its root's descriptor and its path on the host. */
struct view_tree {
	int fd; /* O_PATH; -1: there is none, the number is left out */
	char *path;
	bool runtime; /* system runtime: the built-in rules are left out */
	bool is_directory;
	/* lies in a bind mount: what is in it may have another path on the host */
	bool bound;
	bool has_mounts; /* something is mounted below it: the same of what is in there */
};

/*
 * An empty directory or file at a path of a named tree, for something to be mounted on, where the
 * host has none to show.
 */
struct view_place {
	uint32_t tree;
	bool is_directory;
	char *path;
};

/*
 * A hidden directory outside the named trees, or one that may hold a hidden name of something
 * named: gone through with the named trees.
 */
struct view_anchor {
	char *path;    /* without links */
	uint64_t most; /* entries to look at */
	bool bounded;  /* and that is enough */
};

struct links;

struct view {
	struct policy *policy;
	struct tree *tree;
	struct event_sink *events;
	struct view_tree *trees;
	size_t tree_count;
	struct view_place *places;
	size_t place_count;
	/* what every object's owner is shown as: the one id that exists inside */
	uid_t uid;
	gid_t gid;
	struct fuse_session *session; /* for invalidating what the kernel has cached; may be NULL */
	char *block;                  /* VIEW_BLOCK bytes for reading */
	char *request;                /* VIEW_REQUEST bytes for what the kernel asks */
	int proc;                     /* O_PATH of /proc for what processes are called, or -1 */
	struct object_set hidden;     /* objects that are hidden under some name */
	/* those of them that were known from the start: they lie outside the named trees */
	struct object_set known;
	struct links *links; /* what the last walk for hard links found; NULL: there was none */
	struct view_anchor *anchors;
	size_t anchor_count;
	bool anchors_cut;     /* there were too many */
	int top;              /* O_PATH of the host's root, for the anchors; -1 without */
	size_t listed;        /* bytes that open listings hold */
	int most_descriptors; /* numbers from here on are kept for the server's own needs */
	dev_t devices[256];   /* numbers of file systems in the order in which they were met */
	bool device_hidden[256];
	unsigned device_count;
	/* names of the processes of the last requests, for a moment */
	struct asker {
		int32_t thread, process;
		int64_t until_ns;
		char comm[16];
	} askers[64];
	char path[OBJECT_PATH_MAX + 1], full[2 * OBJECT_PATH_MAX + 2]; /* of the object at hand */
};

/* A view without trees. The policy and the sink become its own. NULL without memory. */
struct view *view_new(struct policy *policy, struct event_sink *events, uid_t uid, gid_t gid);
void view_free(struct view *v);

/*
 * Adds a named tree by an open O_PATH descriptor, which becomes the view's, and its path on the
 * host. Returns its number, or -1.
 */
int view_add_tree(struct view *v, int fd, const char *path, bool runtime);
/* Leaves a number out. */
int view_skip_tree(struct view *v);
int view_add_place(struct view *v, uint32_t tree, const char *path, bool is_directory);
/*
 * Notes a directory to go through with the named trees. bounded: so many entries and no more; else
 * that many are a walk cut short. 0 or -1.
 */
int view_add_anchor(struct view *v, const char *path, uint64_t most, bool bounded);
/* Whether a tree is one to go through for names. */
bool view_is_walked(const struct view *v, size_t tree);
/*
 * Whether a host path lies in such a tree other than `except`; of two trees of the same path the
 * first one covers.
 */
bool view_covers(const struct view *v, const char *path, size_t except);

int64_t view_now_ns(void);

/* The number that an object is shown with: its own, made distinct by file system. */
ino_t view_number(struct view *v, dev_t dev, ino_t ino);
/* Makes a host object's attributes those of the view. */
void view_squash(struct view *v, struct stat *st);
/* The attributes of what is no host object. */
void view_invent(struct view *v, const struct node *n, struct stat *st);

/*
 * Works out the paths of n into v->path (below its tree's root) and v->full (on the host). 0, or
 * ENAMETOOLONG. view_child_path does it for a name below n.
 */
int view_path(struct view *v, const struct node *n);
int view_child_path(struct view *v, const struct node *n, const char *name);

/*
 * What a name below a host directory stands for. v->path and v->full are the child's
 * (view_child_path). at: an open descriptor of the directory, or -1 to go by path. Returns 0 with
 * *found and *st (squashed) filled; or an errno. With ENOENT *rule is the rule that hides an object
 * that exists, VIEW_ABSENT where there is nothing that a rule would hide, and VIEW_NO_RULE where a
 * rule would hide what does not exist.
 */
#define VIEW_NO_RULE (-101)
#define VIEW_ABSENT (-102)
int view_resolve(struct view *v, const struct node *parent, const char *name, int at,
	struct node_identity *found, struct stat *st, int *rule);

/*
 * Whether an object that has or may have several names (hard links, mounts) is hidden under another
 * one; goes through the hidden names when there is need. Returns the rule or VIEW_NO_RULE.
 */
int view_hidden_link(struct view *v, const struct stat *st, bool is_mount);

/*
 * Whether an open file holds what a rule is about; true where that cannot be read. Writes to
 * v->block.
 */
bool view_holds(struct view *v, enum policy_content content, int fd);
/*
 * Whether a rule about what files hold is not about this object after all. path: below root, as in
 * object_open().
 */
bool view_is_ordinary(
	struct view *v, enum policy_content content, int root, const char *path, mode_t mode);

/* Whether a directory is known to be hidden under another name: the rule or VIEW_NO_RULE. */
int view_hidden_directory(struct view *v, const struct stat *st);

/*
 * Keeps some descriptors for what the server itself must open: one that was opened for the program
 * and is beyond is closed, and ENFILE is an event. fd -1 with errno is what an open left. Returns
 * fd, or -1 with errno.
 */
int view_spare(struct view *v, fuse_req_t req, int fd, uint32_t flags);

/* Emits that the server has as many descriptors as it may. Returns ENFILE. */
int view_full(struct view *v, fuse_req_t req, uint32_t flags);

/* Says that something was opened or refused. path NULL: v->full. */
void view_emit(struct view *v, fuse_req_t req, enum event_kind kind, uint32_t flags, int rule,
	const char *path);

/*
 * The low-level operations over a struct view as user data: reading, directories, and all that is
 * refused.
 */
void view_operations(struct fuse_lowlevel_ops *ops);
void view_operations_directory(struct fuse_lowlevel_ops *ops);
void view_operations_refused(struct fuse_lowlevel_ops *ops);

/* The node of a request, or NULL after having answered it. */
struct node *view_node(fuse_req_t req, fuse_ino_t ino);
static inline struct view *view_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/*
 * Serving a view on a descriptor: /dev/fuse, or one end of a SOCK_SEQPACKET pair with a test on the
 * other.
 *
 * One loop in one thread. It waits for requests and for the end of its supervisor, and for nothing
 * else: not for a process of the sandbox, not for a reader of events.
 */

struct view;

/*
 * Opens the session on device, and answers the kernel's first request, which settles the protocol.
 * 0, or -1 with FUSE_UNAVAILABLE and libfuse's message.
 */
int server_open(struct view *v, int device, struct error *err);

/*
 * Serves until the file system is unmounted, the other end of device is gone, or that of control is
 * (-1: there is none). Closes device. Returns 0, or -1 when device could not be set up. Sends what
 * events are left. server_open() comes first.
 */
int server_serve(struct view *v, int device, int control);

#endif
