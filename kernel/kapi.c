// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface for kernel clients: communication domains and attachments, and
 * gni_get_errno().
 *
 * A client's attachments are the kernel's own, whoever runs when they are made:
 * their user is root, and they may have any ptag. Processes talk to a client if
 * they are members of its job: they name its ptag and cookie, and have
 * CAP_SYS_ADMIN or are root's.
 *
 * A module that uses these calls keeps this one loaded, and so does each domain.
 * A module that goes and leaves a domain behind is named, and its domains are
 * destroyed before its code is.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "kapi.h"

u32 kgni_driver_version = GNI_VERSION;
EXPORT_SYMBOL_GPL(kgni_driver_version);

/* A module that was loaded after this one. */
struct kapi_module {
	struct list_head node;
	struct module *mod;
};

static DEFINE_MUTEX(kapi_lock);		/* kapi_cdms, their attachments, kapi_modules */
static LIST_HEAD(kapi_cdms);
static LIST_HEAD(kapi_modules);
/* Whose attachments of the kernel are. */
static const struct cred *kapi_cred;

/* --- errors ------------------------------------------------------------------------ */

static DEFINE_PER_CPU(gni_errno_t, kapi_errno);

static int kapi_errno_of(gni_return_t rc)
{
	switch (rc) {
	case GNI_RC_ERROR_RESOURCE:
		return -EAGAIN;
	case GNI_RC_ERROR_NOMEM:
		return -ENOMEM;
	case GNI_RC_PERMISSION_ERROR:
		return -EPERM;
	case GNI_RC_SIZE_ERROR:
		return -EMSGSIZE;
	case GNI_RC_TRANSACTION_ERROR:
		return -EIO;
	default:
		return -EINVAL;
	}
}

static void kapi_note_error(const char *func, int line, gni_return_t rc)
{
	gni_errno_t *e;

	local_bh_disable();
	e = this_cpu_ptr(&kapi_errno);
	if (!e->valid) {
		strscpy(e->func, func, sizeof(e->func));
		e->lineno = line;
		e->errno = -kapi_errno_of(rc);
		e->data1 = rc;
		e->valid = 1;
	}
	local_bh_enable();
}

/**
 * kapi_end_call - a call of a client ends
 * @func: the call
 * @line: where
 * @rc: what it returns; codes that mean "not now" or "nothing there" are no errors
 *
 * Context: process or softirq.
 * Return: @rc.
 */
gni_return_t kapi_end_call(const char *func, int line, gni_return_t rc)
{
	switch (rc) {
	case GNI_RC_SUCCESS:
	case GNI_RC_NOT_DONE:
	case GNI_RC_NO_MATCH:
	case GNI_RC_TIMEOUT:
		break;
	default:
		kapi_note_error(func, line, rc);
	}
	return rc;
}

/**
 * kapi_rc - an answer of the driver as one for a client
 * @rc: a GNI return code or -errno
 * @nomem: what a lack of memory is called
 *
 * Clients panic at codes that a call is not known to return.
 *
 * Return: the return code.
 */
gni_return_t kapi_rc(long rc, gni_return_t nomem)
{
	if (rc == -ENOMEM)
		return nomem;
	if (rc < 0 || rc == GNI_RC_PERMISSION_ERROR)
		return GNI_RC_INVALID_PARAM;
	return rc;
}

gni_return_t gni_get_errno(gni_nic_handle_t nic_hndl, gni_errno_t *errno_ptr)
{
	gni_return_t rc = GNI_RC_INVALID_STATE;
	gni_errno_t *e;

	if (!kapi_is_nic(nic_hndl) || !errno_ptr)
		return GNI_RC_INVALID_PARAM;
	local_bh_disable();
	e = this_cpu_ptr(&kapi_errno);
	if (e->valid) {
		*errno_ptr = *e;
		memset(e, 0, sizeof(*e));
		rc = GNI_RC_SUCCESS;
	}
	local_bh_enable();
	return rc;
}
EXPORT_SYMBOL_GPL(gni_get_errno);

/* --- domains ------------------------------------------------------------------------- */

/* The module that has an address, its code for the start included. kapi_lock is held. */
static struct module *kapi_module_of(unsigned long addr)
{
	struct kapi_module *m;

	list_for_each_entry(m, &kapi_modules, node)
		if (within_module(addr, m->mod))
			return m->mod;
	return NULL;
}

gni_return_t gni_cdm_create(uint32_t inst_id, uint8_t ptag, uint32_t cookie, uint32_t modes,
			    gni_cdm_handle_t *cdm_hndl)
{
	struct gni_cdm *cdm;

	might_sleep();
	if (!cdm_hndl || !ptag)
		return kapi_end(GNI_RC_INVALID_PARAM);
	cdm = kzalloc(sizeof(*cdm), GFP_NOIO);
	if (!cdm)
		return kapi_end(GNI_RC_ERROR_RESOURCE);
	cdm->magic = KAPI_CDM_MAGIC;
	cdm->inst_id = inst_id;
	cdm->ptag = ptag;
	cdm->cookie = cookie;
	cdm->modes = modes;
	cdm->maker = _RET_IP_;
	INIT_LIST_HEAD(&cdm->nics);
	__module_get(THIS_MODULE);
	mutex_lock(&kapi_lock);
	cdm->owner = kapi_module_of(cdm->maker);
	list_add_tail(&cdm->node, &kapi_cdms);
	mutex_unlock(&kapi_lock);
	*cdm_hndl = cdm;
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_cdm_create);

static struct gni_nic *kapi_attached(const struct gni_cdm *cdm, const struct kgni_device *dev)
{
	struct gni_nic *nic;

	list_for_each_entry(nic, &cdm->nics, node)
		if (nic->nic->dev == dev)
			return nic;
	return NULL;
}

/*
 * The device that a client means: a number, or ~0 for the first one it has not.
 * @dev: out: the device, for put_device(), if there is one.
 */
static gni_return_t kapi_choose_device(const struct gni_cdm *cdm, u32 id, struct kgni_device **dev)
{
	u32 i;

	if (id != ~0U) {
		*dev = kgni_device_next(id);
		if (!*dev || (*dev)->id != id)
			return GNI_RC_NO_MATCH;
		return kapi_attached(cdm, *dev) ? GNI_RC_INVALID_STATE : GNI_RC_SUCCESS;
	}
	for (i = 0; (*dev = kgni_device_next(i)); put_device(&(*dev)->dev)) {
		if (!kapi_attached(cdm, *dev))
			return GNI_RC_SUCCESS;
		i = (*dev)->id + 1;
	}
	return GNI_RC_INVALID_STATE;
}

/* Attach as the kernel, whoever calls. */
static long kapi_make_nic(const struct gni_cdm *cdm, struct kgni_device *dev,
			  struct kgni_nic **nic)
{
	struct kgni_ioc_attach arg = {
		.inst_id = cdm->inst_id,
		.ptag = cdm->ptag,
		.cookie = cdm->cookie,
		.modes = cdm->modes,
	};
	const struct cred *old = override_creds(kapi_cred);
	long rc = kgni_nic_make(dev, &arg, true, nic);

	revert_creds(old);
	return rc;
}

static gni_return_t kapi_attach(struct gni_cdm *cdm, u32 id, struct gni_nic *nic)
{
	struct kgni_device *dev;
	gni_return_t rc = kapi_choose_device(cdm, id, &dev);

	if (rc == GNI_RC_SUCCESS)
		rc = kapi_rc(kapi_make_nic(cdm, dev, &nic->nic), GNI_RC_ERROR_RESOURCE);
	if (rc == GNI_RC_SUCCESS)
		list_add_tail(&nic->node, &cdm->nics);
	else if (dev)
		put_device(&dev->dev);
	return rc;
}

gni_return_t gni_cdm_attach(gni_cdm_handle_t cdm_hndl, uint32_t device_id, uint32_t *local_addr,
			    gni_nic_handle_t *nic_hndl)
{
	struct gni_nic *nic;
	gni_return_t rc;

	might_sleep();
	if (!kapi_is_cdm(cdm_hndl) || !local_addr || !nic_hndl)
		return kapi_end(GNI_RC_INVALID_PARAM);
	nic = kzalloc(sizeof(*nic), GFP_NOIO);
	if (!nic)
		return kapi_end(GNI_RC_ERROR_RESOURCE);
	nic->magic = KAPI_NIC_MAGIC;
	mutex_init(&nic->lock);
	INIT_LIST_HEAD(&nic->eps);
	INIT_LIST_HEAD(&nic->cqs);
	INIT_LIST_HEAD(&nic->holds);
	INIT_LIST_HEAD(&nic->errs);
	nic->max_retrans = FMA_SMSG_MAX_RETRANS_DEFAULT;
	mutex_lock(&kapi_lock);
	rc = kapi_attach(cdm_hndl, device_id, nic);
	mutex_unlock(&kapi_lock);
	if (rc != GNI_RC_SUCCESS) {
		kfree(nic);
		return kapi_end(rc);
	}
	/* As the job calls it; it has a name, or it would not be attached. */
	kgni_ntt_from_pe(nic->nic->job, nic->nic->dev->pe, local_addr);
	*nic_hndl = nic;
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_cdm_attach);

/* First what peers and workers could still reach, then what they were told of. */
static void kapi_detach(struct gni_nic *nic)
{
	struct kgni_device *dev = nic->nic->dev;

	list_del(&nic->node);
	nic->magic = 0;
	kapi_quiesce_forget(nic);
	kapi_err_release_all(nic);
	kapi_mem_release_all(nic);
	kapi_ep_destroy_all(nic);
	kapi_cq_destroy_all(nic);
	kgni_nic_release(nic->nic);
	put_device(&dev->dev);
	kfree(nic);
}

static void kapi_cdm_free(struct gni_cdm *cdm)
{
	struct gni_nic *nic, *next;

	cdm->magic = 0;
	list_for_each_entry_safe(nic, next, &cdm->nics, node)
		kapi_detach(nic);
	list_del(&cdm->node);
	kfree(cdm);
	module_put(THIS_MODULE);
}

gni_return_t gni_cdm_destroy(gni_cdm_handle_t cdm_hndl)
{
	might_sleep();
	if (!kapi_is_cdm(cdm_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	mutex_lock(&kapi_lock);
	kapi_cdm_free(cdm_hndl);
	mutex_unlock(&kapi_lock);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_cdm_destroy);

/* --- clients that go -------------------------------------------------------------------- */

static void kapi_module_comes(struct module *mod)
{
	struct kapi_module *m = kmalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return;
	m->mod = mod;
	mutex_lock(&kapi_lock);
	list_add(&m->node, &kapi_modules);
	mutex_unlock(&kapi_lock);
}

static void kapi_module_forget(const struct module *mod)
{
	struct kapi_module *m;

	list_for_each_entry(m, &kapi_modules, node) {
		if (m->mod == mod) {
			list_del(&m->node);
			kfree(m);
			return;
		}
	}
}

/*
 * Where the maker's module was not known then, its address says. Where it was, that
 * says nothing: code for the start is freed, and another module may lie there now.
 */
static bool kapi_belongs_to(const struct gni_cdm *cdm, struct module *mod)
{
	return cdm->owner ? cdm->owner == mod : within_module(cdm->maker, mod);
}

static void kapi_module_goes(struct module *mod)
{
	struct gni_cdm *cdm, *next;

	mutex_lock(&kapi_lock);
	list_for_each_entry_safe(cdm, next, &kapi_cdms, node) {
		if (!kapi_belongs_to(cdm, mod))
			continue;
		pr_warn("module %s leaves without gni_cdm_destroy() of its domain: inst_id %u, ptag %u, cookie 0x%x\n",
			module_name(mod), cdm->inst_id, cdm->ptag, cdm->cookie);
		kapi_cdm_free(cdm);
	}
	kapi_module_forget(mod);
	mutex_unlock(&kapi_lock);
}

static int kapi_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == MODULE_STATE_COMING)
		kapi_module_comes(data);
	else if (event == MODULE_STATE_GOING)
		kapi_module_goes(data);
	return NOTIFY_OK;
}

static struct notifier_block kapi_module_nb = { .notifier_call = kapi_module_event };

static void kapi_modules_free(void)
{
	struct kapi_module *m, *next;

	list_for_each_entry_safe(m, next, &kapi_modules, node)
		kfree(m);
}

/**
 * kapi_init - get ready for clients
 *
 * Context: process, may sleep.
 * Return: 0 or -errno, with nothing left behind.
 */
int __init kapi_init(void)
{
	int rc = -ENOMEM;

	kapi_cred = prepare_kernel_cred(NULL);
	if (!kapi_cred)
		return rc;
	rc = kapi_post_init();
	if (rc)
		goto put_cred;
	rc = kapi_mem_init();
	if (rc)
		goto post_exit;
	rc = register_module_notifier(&kapi_module_nb);
	if (!rc)
		return 0;
	kapi_mem_exit();
post_exit:
	kapi_post_exit();
put_cred:
	put_cred(kapi_cred);
	return rc;
}

/**
 * kapi_exit - undo kapi_init()
 *
 * Context: process, may sleep; no client is left.
 */
void kapi_exit(void)
{
	unregister_module_notifier(&kapi_module_nb);
	kapi_modules_free();
	kapi_mem_exit();
	kapi_post_exit();
	put_cred(kapi_cred);
}
