/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A model of reliable-datagram endpoints: what was posted, and what must come of it. */
#ifndef RDM_MODEL_H
#define RDM_MODEL_H

#include "rdm.h"

enum { MODEL_EPS = 3, MODEL_OPS = 1200, MODEL_SLOTS = 8 };
enum { MODEL_WINDOW = 1 << 20, MODEL_PART = (MODEL_WINDOW / MODEL_EPS) & ~7 };
enum { MODEL_LONGEST = 300000, MODEL_MARGIN = 64 };

enum model_kind { MODEL_SEND, MODEL_RECV, MODEL_PEEK, MODEL_WRITE, MODEL_READ, MODEL_ATOMIC };

struct model_op {
	struct fi_context2 context; /* first */
	enum model_kind kind;
	int ep;
	int peer;	     /* MODEL_RECV: the only source that matches, or -1 */
	unsigned int age;    /* position among all posted operations */
	unsigned int number; /* MODEL_SEND: position among the messages of ep to peer */
	bool tagged, delivery, canceled, complete;
	uint64_t tag, ignore;
	size_t len, at; /* at: the offset in the target's window */
	uint8_t *buf;
	struct model_op *partner; /* the receive of a message, and the reverse */
};

struct model {
	struct model_op ops[MODEL_OPS];
	unsigned int count, open; /* open: not complete */
	/* The messages of one endpoint to another. */
	struct model_op *messages[MODEL_EPS][MODEL_EPS][MODEL_OPS];
	unsigned int sent[MODEL_EPS][MODEL_EPS];
	bool transferring[MODEL_EPS][MODEL_EPS]; /* an RMA operation is under way */
	uint64_t sums[MODEL_EPS][MODEL_SLOTS];	 /* expected values of the counters */
	/* The memory that each endpoint offers: a window, and MODEL_SLOTS counters behind it. */
	uint8_t *window[MODEL_EPS];
	fi_addr_t addr[MODEL_EPS][MODEL_EPS]; /* [of][in the address vector of] */
};

/* Returns a new operation with a buffer, or NULL if there have been MODEL_OPS. */
struct model_op *model_op(struct model *model, enum model_kind kind, int ep, int peer, size_t len);
/* Numbers a message and fills its buffer. */
void model_message(struct model *model, struct model_op *op);
/* The remote CQ data of a message. */
uint64_t model_data(const struct model_op *message);
/* Checks an entry of the completion queue of an endpoint. */
void model_success(struct model *model, int ep, const struct fi_cq_tagged_entry *entry,
		   fi_addr_t source);
void model_error(struct model *model, int ep, const struct fi_cq_err_entry *entry);
/* Returns true once all atomics took place. */
bool model_sums(const struct model *model);
/* Checks, at the end, that everything arrived in an order that was possible. */
void model_check(const struct model *model);
void model_free(struct model *model);

#endif
