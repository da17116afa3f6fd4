/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collective trees for the tests of the collective engine: shapes, which are
 * plain data that processes may share, what reductions should come to, and the
 * channels and leaves of a process. Channels and leaves are on two NICs.
 */
#ifndef KGNI_VM_COMMON_TREE_H
#define KGNI_VM_COMMON_TREE_H

#include "common.h"
#include "common_ce.h"

#define TREE_NICS	2
#define TREE_CHANNELS	(4 * TREE_NICS)
#define TREE_LEAVES	64
#define TREE_WINDOW	8	/* reductions that a leaf has in flight */
#define OWNER_ID	1000
#define LEAF_ID		2000

struct tree_end {
	bool used;
	bool leaf;
	unsigned int index;
};

struct tree_chan {
	int parent;		/* a channel, -1 at the root */
	unsigned int number;	/* what it is to that */
	unsigned int device;
	uint32_t modes;
	uint32_t pe;
	uint32_t id;
	struct tree_end child[GNI_CE_MAX_CHILDREN];
};

struct tree_leaf {
	unsigned int chan;
	unsigned int number;
	unsigned int device;
	uint32_t inst;
};

struct tree {
	unsigned int chans;
	unsigned int leaves;
	struct tree_chan chan[TREE_CHANNELS];
	struct tree_leaf leaf[TREE_LEAVES];
};

/* What a leaf gives to a reduction. */
struct given {
	uint32_t mode;
	uint64_t op[2];
};

/* Channels one below the other, as many as @depth, more if the leaves need them. */
void tree_make(struct tree *t, unsigned int leaves, unsigned int depth, uint32_t *seed);
/* What the root has for all. */
struct ce_sum tree_reference(const struct tree *t, gni_ce_cmd_type_t cmd,
			     const struct given *given);

/* The channels of a tree that are on the @devices of this process, as bits. */
struct owner {
	struct nic *n;		/* TREE_NICS of them */
	unsigned int devices;
	gni_ce_handle_t ce[TREE_CHANNELS];
	gni_cq_handle_t cq[TREE_CHANNELS];	/* or NULL */
	gni_ep_handle_t ep[TREE_CHANNELS][GNI_CE_MAX_CHILDREN + 1];
	unsigned int eps[TREE_CHANNELS];
};

void owner_create(struct owner *o, struct tree *t, struct nic *n);
void owner_create_on(struct owner *o, struct tree *t, struct nic *n, unsigned int devices);
/* All leaves are attached, and all channels there. */
void owner_configure(struct owner *o, const struct tree *t);
void owner_close(struct owner *o, const struct tree *t);

/* A leaf of this process. */
struct member {
	struct nic *n;
	gni_cq_handle_t cq;
	bool alone;
	gni_ep_handle_t ep;
	gni_mem_handle_t mh;
	gni_ce_result_t *result;	/* TREE_WINDOW of them */
	gni_post_descriptor_t d[TREE_WINDOW];
};

void member_open(struct member *m, struct nic *n, const struct tree *t, unsigned int leaf);
/* With a queue of its own, where it sleeps until there is an event. */
void member_open_alone(struct member *m, struct nic *n, const struct tree *t, unsigned int leaf);
void member_close(struct member *m);
gni_return_t member_post(struct member *m, unsigned int slot, gni_ce_cmd_type_t cmd,
			 uint64_t red_id, const struct given *given);
/* Waits for the event of a post, which must be this one. */
gni_return_t member_done(struct member *m, unsigned int slot);
/* Is the result there, and this? */
void member_check(struct member *m, unsigned int slot, uint64_t red_id, gni_ce_cmd_type_t cmd,
		  const struct ce_sum *want);
/* A reduction without data, waited for. */
gni_return_t member_barrier(struct member *m, uint64_t red_id);

#endif /* KGNI_VM_COMMON_TREE_H */
