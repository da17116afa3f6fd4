// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: questions to the driver, by generic netlink. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include "gnictl.h"

/* Room for what comes while nobody reads, bytes. */
#define RECEIVE_BUFFER	(1 << 20)

static struct nl_sock *sock;
static int family;

bool has(struct nlattr **attrs, int attr)
{
	return attrs[attr];
}

/* What is not there is 0. */
uint32_t get_u32(struct nlattr **attrs, int attr)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : 0;
}

uint64_t get_u64(struct nlattr **attrs, int attr)
{
	return attrs[attr] ? nla_get_u64(attrs[attr]) : 0;
}

const char *get_text(struct nlattr **attrs, int attr)
{
	return attrs[attr] ? nla_get_string(attrs[attr]) : "";
}

/**
 * driver_open - find the driver's family
 *
 * Return: false, after a message, if the driver cannot be asked.
 */
bool driver_open(void)
{
	int rc, on = 1;

	sock = nl_socket_alloc();
	if (!sock) {
		complain("out of memory");
		return false;
	}
	rc = genl_connect(sock);
	if (rc) {
		complain("no generic netlink: %s", nl_geterror(rc));
		driver_close();
		return false;
	}
	family = genl_ctrl_resolve(sock, KGNI_GENL_NAME);
	if (family < 0) {
		complain("the module kgni is not loaded; 'modprobe kgni' as root loads it");
		complain("(from a container it cannot be reached)");
		driver_close();
		return false;
	}
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	return true;
}

void driver_close(void)
{
	nl_socket_free(sock);
	sock = NULL;
}

/* A question that is being asked. */
struct asking {
	message_fn fn;
	void *arg;
	struct answer *answer;
	bool done;
};

static const struct nla_policy policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = { .type = NLA_U32 },
	[KGNI_A_PE] = { .type = NLA_U32 },
	[KGNI_A_TYPE] = { .type = NLA_U32 },
	[KGNI_A_STATE] = { .type = NLA_U32 },
	[KGNI_A_VERSION] = { .type = NLA_STRING },
	[KGNI_A_JOBS] = { .type = NLA_U32 },
	[KGNI_A_NICS] = { .type = NLA_U32 },
	[KGNI_A_RES] = { .type = NLA_NESTED },
	[KGNI_A_STATS] = { .type = NLA_NESTED },
	[KGNI_A_PTAG] = { .type = NLA_U32 },
	[KGNI_A_COOKIE] = { .type = NLA_U32 },
	[KGNI_A_UID] = { .type = NLA_U32 },
	[KGNI_A_NIC] = { .type = NLA_U32 },
	[KGNI_A_INST] = { .type = NLA_U32 },
	[KGNI_A_MODES] = { .type = NLA_U32 },
	[KGNI_A_PID] = { .type = NLA_U32 },
	[KGNI_A_COMM] = { .type = NLA_STRING },
	[KGNI_A_MEMS] = { .type = NLA_U32 },
	[KGNI_A_PAGES] = { .type = NLA_U64 },
	[KGNI_A_CQS] = { .type = NLA_U32 },
	[KGNI_A_DGRAMS] = { .type = NLA_U32 },
	[KGNI_A_POSTS] = { .type = NLA_U32 },
	[KGNI_A_MDH] = { .type = NLA_U32 },
	[KGNI_A_FLAGS] = { .type = NLA_U32 },
	[KGNI_A_ADDR] = { .type = NLA_U64 },
	[KGNI_A_LENGTH] = { .type = NLA_U64 },
	[KGNI_A_CQ] = { .type = NLA_U32 },
	[KGNI_A_SLOTS] = { .type = NLA_U32 },
	[KGNI_A_FILL] = { .type = NLA_U32 },
	[KGNI_A_MAPS] = { .type = NLA_U32 },
	[KGNI_A_EP] = { .type = NLA_U32 },
	[KGNI_A_ID] = { .type = NLA_U64 },
	[KGNI_A_REMOTE_PE] = { .type = NLA_U32 },
	[KGNI_A_REMOTE_INST] = { .type = NLA_U32 },
	[KGNI_A_CODE] = { .type = NLA_U32 },
	[KGNI_A_CATEGORY] = { .type = NLA_U32 },
	[KGNI_A_JOB_ID] = { .type = NLA_U64 },
	[KGNI_A_NTT_BASE] = { .type = NLA_U32 },
	[KGNI_A_NTT_SIZE] = { .type = NLA_U32 },
	[KGNI_A_INDEX] = { .type = NLA_U32 },
	[KGNI_A_GRANULARITY] = { .type = NLA_U32 },
	[KGNI_A_BLOCK] = { .type = NLA_U32 },
	[KGNI_A_REPLACED] = { .type = NLA_U32 },
	[KGNI_A_REPLACEMENT] = { .type = NLA_U32 },
	[KGNI_A_BW] = { .type = NLA_U32 },
	[KGNI_A_AOT_BW] = { .type = NLA_U32 },
	[KGNI_A_NORBS] = { .type = NLA_U32 },
	[KGNI_A_SYS_BW] = { .type = NLA_U32 },
	[KGNI_A_SYS_AOT_BW] = { .type = NLA_U32 },
	[KGNI_A_CHANGES] = { .type = NLA_U32 },
	[KGNI_A_COMMITTED] = { .type = NLA_U32 },
	[KGNI_A_OPEN_NS] = { .type = NLA_U64 },
	[KGNI_A_CLOSED_NS] = { .type = NLA_U64 },
	[KGNI_A_LATE_NS] = { .type = NLA_U64 },
	[KGNI_A_CES] = { .type = NLA_U32 },
	[KGNI_A_CE] = { .type = NLA_U32 },
	[KGNI_A_CHILDREN] = { .type = NLA_U32 },
	[KGNI_A_SEEN] = { .type = NLA_U32 },
	[KGNI_A_PARENT] = { .type = NLA_U32 },
	[KGNI_A_STATUS] = { .type = NLA_U32 },
	[KGNI_A_REDUCTIONS] = { .type = NLA_U32 },
};

static int on_message(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct genlmsghdr *hdr = genlmsg_hdr(nlh);
	struct nlattr *attrs[KGNI_A_MAX + 1];
	struct asking *a = arg;

	if (nlh->nlmsg_type != family)
		return NL_SKIP;
	if (genlmsg_parse(nlh, 0, attrs, KGNI_A_MAX, policy) == 0 && a->fn)
		a->fn(a->arg, hdr->cmd, attrs);
	return NL_OK;
}

/* The kernel's words stand behind the message that it refuses, or that one's head. */
static void keep_why(struct answer *answer, const struct nlmsgerr *err, const struct nlmsghdr *nlh)
{
	size_t head = sizeof(*err);
	struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		head += err->msg.nlmsg_len - NLMSG_HDRLEN;
	if (nlh->nlmsg_len < NLMSG_HDRLEN + NLMSG_ALIGN(head))
		return;
	attr = nla_find((struct nlattr *)((char *)err + NLMSG_ALIGN(head)),
			(int)(nlh->nlmsg_len - NLMSG_HDRLEN - NLMSG_ALIGN(head)),
			NLMSGERR_ATTR_MSG);
	if (attr)
		snprintf(answer->why, sizeof(answer->why), "%.*s", nla_len(attr),
			 (char *)nla_data(attr));
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	struct asking *a = arg;

	(void)from;
	a->answer->error = -err->error;
	keep_why(a->answer, err,
		 (const struct nlmsghdr *)((const char *)err - NLMSG_HDRLEN));
	a->done = true;
	return NL_STOP;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	struct asking *a = arg;

	(void)msg;
	a->done = true;
	return NL_STOP;
}

static int on_change(struct nl_msg *msg, void *arg)
{
	struct asking *a = arg;

	(void)msg;
	a->answer->changed = true;
	return NL_OK;
}

static struct extra *add(struct request *req, int attr, enum extra_kind kind)
{
	struct extra *e = &req->extra[req->extras++];

	*e = (struct extra){ .attr = attr, .kind = kind };
	return e;
}

void add_u32(struct request *req, int attr, uint32_t number)
{
	add(req, attr, EXTRA_U32)->number = number;
}

void add_u64(struct request *req, int attr, uint64_t number)
{
	add(req, attr, EXTRA_U64)->number = number;
}

void add_flag(struct request *req, int attr)
{
	add(req, attr, EXTRA_FLAG);
}

void add_limit(struct request *req, const char *name, uint32_t number)
{
	struct extra *e = add(req, KGNI_A_RES, EXTRA_LIMIT);

	e->name = name;
	e->number = number;
}

void add_bytes(struct request *req, int attr, const void *bytes, size_t len)
{
	struct extra *e = add(req, attr, EXTRA_BYTES);

	e->bytes = bytes;
	e->len = len;
}

static bool put_limit(struct nl_msg *msg, const struct extra *e)
{
	struct nlattr *nest = nla_nest_start(msg, KGNI_A_RES | NLA_F_NESTED);

	if (!nest || nla_put_string(msg, KGNI_RES_A_NAME, e->name) ||
	    nla_put_u32(msg, KGNI_RES_A_TOTAL, (uint32_t)e->number))
		return false;
	nla_nest_end(msg, nest);
	return true;
}

static bool put_extra(struct nl_msg *msg, const struct extra *e)
{
	switch (e->kind) {
	case EXTRA_U32: return !nla_put_u32(msg, e->attr, (uint32_t)e->number);
	case EXTRA_U64: return !nla_put_u64(msg, e->attr, e->number);
	case EXTRA_FLAG: return !nla_put_flag(msg, e->attr);
	case EXTRA_BYTES: return !nla_put(msg, e->attr, (int)e->len, e->bytes);
	default: return true;
	}
}

/* Limits are in a nest of their own. */
static bool put_extras(struct nl_msg *msg, const struct request *req)
{
	struct nlattr *limits = NULL;
	unsigned int i;

	for (i = 0; i < req->extras; i++)
		if (!put_extra(msg, &req->extra[i]))
			return false;
	for (i = 0; i < req->extras; i++) {
		if (req->extra[i].kind != EXTRA_LIMIT)
			continue;
		if (!limits)
			limits = nla_nest_start(msg, KGNI_A_RES | NLA_F_NESTED);
		if (!limits || !put_limit(msg, &req->extra[i]))
			return false;
	}
	if (limits)
		nla_nest_end(msg, limits);
	return true;
}

/* An array of entries may be larger than other messages. */
#define QUESTION_MAX	(1 << 17)

static struct nl_msg *question(const struct request *req)
{
	struct nl_msg *msg = nlmsg_alloc_size(QUESTION_MAX);
	int flags = req->dump ? NLM_F_DUMP : NLM_F_ACK;

	if (!msg)
		return NULL;
	if (genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, flags, req->cmd,
			KGNI_GENL_VERSION) &&
	    (req->dev == ANY_DEVICE || !nla_put_u32(msg, KGNI_A_DEV, req->dev)) &&
	    (!req->ptag || !nla_put_u32(msg, KGNI_A_PTAG, req->ptag)) &&
	    (!req->pid || !nla_put_u32(msg, KGNI_A_PID, req->pid)) &&
	    (!req->code || !nla_put_u32(msg, KGNI_A_CODE, req->code)) &&
	    (!req->force || !nla_put_flag(msg, KGNI_A_FORCE)) && put_extras(msg, req))
		return msg;
	nlmsg_free(msg);
	return NULL;
}

static struct nl_cb *callbacks(struct asking *a)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (!cb)
		return NULL;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_message, a);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, a);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, a);
	nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_change, a);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, a);
	return cb;
}

/* libnl has errors of its own. */
static int error_of(int nl_error)
{
	return nl_error == -NLE_NOMEM ? ENOMEM : nl_error == -NLE_PERM ? EPERM : EIO;
}

static void receive(struct asking *a)
{
	struct nl_cb *cb = callbacks(a);
	int rc;

	if (!cb) {
		a->answer->error = ENOMEM;
		return;
	}
	while (!a->done) {
		rc = nl_recvmsgs(sock, cb);
		if (rc < 0 && !a->done) {
			a->answer->error = error_of(rc);
			break;
		}
	}
	nl_cb_put(cb);
}

/**
 * ask - ask the driver
 * @req: what
 * @fn: is told what it answers; NULL if nobody wants to know
 * @arg: for @fn
 * @answer: out: how it went
 */
void ask(const struct request *req, message_fn fn, void *arg, struct answer *answer)
{
	struct asking a = { .fn = fn, .arg = arg, .answer = answer };
	struct nl_msg *msg = question(req);
	int rc;

	memset(answer, 0, sizeof(*answer));
	if (!msg) {
		answer->error = ENOMEM;
		return;
	}
	rc = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	if (rc < 0)
		answer->error = error_of(rc);
	else
		receive(&a);
}

/* --- what happens ------------------------------------------------------------- */

static struct asking listening;
static struct answer listening_answer;

/**
 * listen_events - be told what happens from now on
 * @all: everything, not only devices that come and go
 * @fn: is told, inside listen_once()
 * @arg: for @fn
 *
 * Return: 0 or -errno.
 */
int listen_events(bool all, message_fn fn, void *arg)
{
	int group, rc;

	listening = (struct asking){ .fn = fn, .arg = arg, .answer = &listening_answer };
	group = genl_ctrl_resolve_grp(sock, KGNI_GENL_NAME,
				      all ? KGNI_GENL_GROUP_EVENTS : KGNI_GENL_GROUP_DEVICES);
	if (group < 0)
		return -EIO;
	nl_socket_disable_seq_check(sock);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_message, &listening);
	nl_socket_set_buffer_size(sock, RECEIVE_BUFFER, 0);
	rc = nl_socket_add_memberships(sock, group, 0);
	if (!rc)
		rc = nl_socket_set_nonblocking(sock);
	return rc ? -error_of(rc) : 0;
}

/**
 * listen_once - wait for something to happen, and tell of it
 * @timeout_ms: how long, -1 for ever
 *
 * Return: false if some of what happened was lost.
 */
bool listen_once(int timeout_ms)
{
	struct pollfd p = { .fd = nl_socket_get_fd(sock), .events = POLLIN };
	int rc;

	if (poll(&p, 1, timeout_ms) <= 0)
		return true;
	rc = nl_recvmsgs_default(sock);
	return rc >= 0 || rc == -NLE_AGAIN || rc == -NLE_INTR;
}
