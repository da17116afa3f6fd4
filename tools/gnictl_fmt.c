// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: numbers, names and units as text, and text as numbers. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <gni/kgni.h>
#include <gni_pub.h>
#include "core/cqe.h"
#include "gnictl.h"

const struct bit_name cdm_modes[] = {
	{ GNI_CDM_MODE_FORK_NOCOPY, "fork-nocopy" },
	{ GNI_CDM_MODE_FORK_FULLCOPY, "fork-fullcopy" },
	{ GNI_CDM_MODE_FORK_PARTCOPY, "fork-partcopy" },
	{ GNI_CDM_MODE_ERR_NO_KILL, "err-no-kill" },
	{ GNI_CDM_MODE_ERR_ALL_KILL, "err-all-kill" },
	{ GNI_CDM_MODE_FAST_DATAGRAM_POLL, "fast-datagram-poll" },
	{ GNI_CDM_MODE_BTE_SINGLE_CHANNEL, "bte-single-channel" },
	{ GNI_CDM_MODE_USE_PCI_IOMMU, "pci-iommu" },
	{ GNI_CDM_MODE_MDD_DEDICATED, "mdd-dedicated" },
	{ GNI_CDM_MODE_MDD_SHARED, "mdd-shared" },
	{ GNI_CDM_MODE_DUAL_EVENTS, "dual-events" },
	{ GNI_CDM_MODE_DLA_ENABLE_FORWARDING, "dla-forwarding" },
	{ GNI_CDM_MODE_DLA_DISABLE_FORWARDING, "dla-no-forwarding" },
	{ GNI_CDM_MODE_FMA_DEDICATED, "fma-dedicated" },
	{ GNI_CDM_MODE_FMA_SHARED, "fma-shared" },
	{ GNI_CDM_MODE_CACHED_AMO_ENABLED, "cached-amo" },
	{ GNI_CDM_MODE_CQ_NIC_LOCAL_PLACEMENT, "cq-nic-local" },
	{ GNI_CDM_MODE_FLBTE_DISABLE, "flbte-disable" },
	{ GNI_CDM_MODE_FMA_SMALL_WINDOW, "fma-small-window" },
	{ 0, NULL }
};

const struct bit_name mem_flags[] = {
	{ GNI_MEM_READ_ONLY, "read-only" },
	{ GNI_MEM_USE_VMDH, "vmdh" },
	{ GNI_MEM_USE_GART, "gart" },
	{ GNI_MEM_PHYS_CONT, "phys-cont" },
	{ GNI_MEM_STRICT_PI_ORDERING, "strict-pi" },
	{ GNI_MEM_PI_FLUSH, "pi-flush" },
	{ GNI_MEM_MDD_CLONE, "clone" },
	{ GNI_MEM_RELAXED_PI_ORDERING, "relaxed-pi" },
	{ GNI_MEM_RESERVE_REGION, "reserved" },
	{ GNI_MEM_UPDATE_REGION, "update" },
	{ GNI_MEM_MDD_SHARED, "shared" },
	{ GNI_MEM_MDD_DEDICATED, "dedicated" },
	{ 0, NULL }
};

const struct bit_name cq_modes[] = {
	{ GNI_CQ_BLOCKING, "blocking" },
	{ GNI_CQ_PHYS_PAGES, "phys-pages" },
	{ GNI_CQ_UNMANAGED, "unmanaged" },
	{ 0, NULL }
};

const struct bit_name ce_modes[] = {
	{ GNI_CE_MODE_CQE_ONCOMP, "cqe-oncomp" },
	{ GNI_CE_MODE_CQE_ONERR, "cqe-onerr" },
	{ GNI_CE_MODE_ROUND_UP, "round-up" },
	{ GNI_CE_MODE_ROUND_DOWN, "round-down" },
	{ GNI_CE_MODE_ROUND_NEAR, "round-near" },
	{ GNI_CE_MODE_ROUND_ZERO, "round-zero" },
	{ GNI_CE_MODE_RC_NMIN_HASH, "rc-nmin-hash" },
	{ GNI_CE_MODE_RC_MIN_HASH, "rc-min-hash" },
	{ GNI_CE_MODE_RC_MNON_HASH, "rc-mnon-hash" },
	{ GNI_CE_MODE_RC_ADAPT, "rc-adapt" },
	{ 0, NULL }
};

const struct bit_name bi_flags[] = {
	{ GNI_BI_FLAG_APPLY_NOW, "now" },
	{ GNI_BI_FLAG_APPLY_AFTER_THROTTLE, "after-throttle" },
	{ GNI_BI_FLAG_USE_DEFAULT_SETTINGS, "default" },
	{ GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES, "orbs" },
	{ 0, NULL }
};

/* With @buf of TEXT_MAX bytes, as all of these. */
char *text_bytes(char *buf, uint64_t bytes)
{
	static const char * const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t whole = bytes, rest = 0;
	size_t i = 0;

	while (whole >= 1024) {
		rest = whole % 1024;
		whole /= 1024;
		i++;
	}
	if (!rest || whole >= 100)
		snprintf(buf, TEXT_MAX, "%" PRIu64 " %s", whole, unit[i]);
	else
		snprintf(buf, TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %s", whole, rest * 10 / 1024,
			 unit[i]);
	return buf;
}

/* Names with commas between them; "-" for none, and what has no name in hex. */
char *text_bits(char *buf, uint32_t bits, const struct bit_name *names)
{
	size_t used = 0;

	buf[0] = '\0';
	for (; names->name && used < TEXT_MAX; names++) {
		if (!(bits & names->bit))
			continue;
		used += (size_t)snprintf(buf + used, TEXT_MAX - used, "%s%s", used ? "," : "",
					 names->name);
		bits &= ~names->bit;
	}
	if (bits && used < TEXT_MAX)
		used += (size_t)snprintf(buf + used, TEXT_MAX - used, "%s0x%x", used ? "," : "",
					 bits);
	if (!used)
		snprintf(buf, TEXT_MAX, "-");
	return buf;
}

/* How much more it is, for each second of @ns. What went back has begun anew. */
char *text_rate(char *buf, uint64_t before, uint64_t now, uint64_t ns, bool bytes)
{
	double rate = now > before && ns ? (double)(now - before) * 1e9 / (double)ns : 0;
	static const char * const unit[] = { "", "k", "M", "G", "T" };
	size_t i = 0;

	while (rate >= 1000 && i + 1 < ARRAY_SIZE(unit)) {
		rate /= 1000;
		i++;
	}
	snprintf(buf, TEXT_MAX, "%.*f %s%s", rate && rate < 100 ? 1 : 0, rate, unit[i],
		 bytes ? "B/s" : "/s");
	return buf;
}

const char *text_dgram_state(uint32_t state)
{
	static const char * const names[] = {
		[GNI_POST_PENDING] = "pending",
		[GNI_POST_COMPLETED] = "completed",
		[GNI_POST_ERROR] = "error",
		[GNI_POST_TIMEOUT] = "timeout",
		[GNI_POST_TERMINATED] = "terminated",
		[GNI_POST_REMOTE_DATA] = "remote-data",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

/* Of a channel of the collective engine, by what is wrong with its tree. */
const char *text_ce_state(uint32_t status, uint32_t children)
{
	if (!children)
		return "new";
	return status == KGNI_ST_OK ? "whole" : "broken";
}

const char *text_device_type(uint32_t type)
{
	static const char * const names[] = {
		[GNI_DEVICE_GEMINI] = "gemini",
		[GNI_DEVICE_ARIES] = "aries",
	};

	return type < ARRAY_SIZE(names) ? names[type] : "unknown";
}

const char *text_device_state(uint32_t state)
{
	static const char * const names[] = {
		[KGNI_DEV_UP] = "up",
		[KGNI_DEV_GONE] = "gone",
		[KGNI_DEV_QUIESCED] = "quiesced",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

const struct bit_name error_categories[] = {
	{ GNI_ERRMASK_CORRECTABLE_MEMORY, "correctable-memory" },
	{ GNI_ERRMASK_CRITICAL, "critical" },
	{ GNI_ERRMASK_TRANSACTION, "transaction" },
	{ GNI_ERRMASK_ADDRESS_TRANSLATION, "address-translation" },
	{ GNI_ERRMASK_TRANSIENT, "transient" },
	{ GNI_ERRMASK_INFORMATIONAL, "informational" },
	{ GNI_ERRMASK_DIAG_ONLY, "diag-only" },
	{ GNI_ERRMASK_UNKNOWN_TRANSACTION, "unknown-transaction" },
	{ 0, NULL }
};

static const struct bit_name error_codes[] = {
	{ KGNI_ST_MDD_INVALID, "mdd-invalid" },
	{ KGNI_ST_BOUNDS, "bounds" },
	{ KGNI_ST_PROTECTION, "protection" },
	{ KGNI_ST_ADDRESS, "address" },
	{ KGNI_ST_UNREACHABLE, "unreachable" },
	{ KGNI_ST_ABORTED, "aborted" },
	{ KGNI_ST_PRODUCER_DIED, "producer-died" },
	{ KGNI_ST_NO_CQ, "no-cq" },
	{ KGNI_ST_REM_OVERRUN, "remote-overrun" },
	{ KGNI_ST_LINK, "link" },
	{ KGNI_ERR_MEMORY_CORRECTED, "memory-corrected" },
	{ KGNI_ERR_MEMORY, "memory" },
	{ KGNI_ERR_DIAG, "diag" },
	{ KGNI_ERR_QUIESCE, "quiesce" },
	{ KGNI_ERR_NO_JOB, "no-job" },
	{ 0, NULL }
};

const char *text_error(char *buf, uint32_t code)
{
	const struct bit_name *e;

	for (e = error_codes; e->name; e++)
		if (e->bit == code)
			return e->name;
	snprintf(buf, TEXT_MAX, "0x%x", code);
	return buf;
}

bool parse_error(const char *text, uint32_t *code)
{
	const struct bit_name *e;

	for (e = error_codes; e->name; e++) {
		if (!strcmp(e->name, text)) {
			*code = e->bit;
			return true;
		}
	}
	return parse_number(text, INT16_MAX, code) && *code;
}

static const char * const stat_keys[KGNI_STAT_COUNT] = {
	[KGNI_STAT_FMA_PUT] = "fma_put",
	[KGNI_STAT_FMA_PUT_BYTES] = "fma_put_bytes",
	[KGNI_STAT_FMA_GET] = "fma_get",
	[KGNI_STAT_FMA_GET_BYTES] = "fma_get_bytes",
	[KGNI_STAT_AMO] = "amo",
	[KGNI_STAT_CQWRITE] = "cqwrite",
	[KGNI_STAT_SMSG] = "smsg",
	[KGNI_STAT_RDMA_PUT] = "rdma_put",
	[KGNI_STAT_RDMA_PUT_BYTES] = "rdma_put_bytes",
	[KGNI_STAT_RDMA_GET] = "rdma_get",
	[KGNI_STAT_RDMA_GET_BYTES] = "rdma_get_bytes",
	[KGNI_STAT_ERROR] = "error",
	[KGNI_STAT_DGRAM] = "dgram",
	[KGNI_STAT_DGRAM_MATCHED] = "dgram_matched",
	[KGNI_STAT_CE] = "ce",
};

/* Return: NULL for a counter that this gnictl does not know. */
const char *stat_key(unsigned int stat)
{
	return stat < ARRAY_SIZE(stat_keys) ? stat_keys[stat] : NULL;
}

bool stat_is_bytes(unsigned int stat)
{
	const char *key = stat_key(stat);

	return key && strlen(key) > 6 && !strcmp(key + strlen(key) - 6, "_bytes");
}

/* Decimal, or hexadecimal after 0x. */
bool parse_number64(const char *text, uint64_t *value)
{
	unsigned long long v;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
	if (errno || *end)
		return false;
	*value = v;
	return true;
}

bool parse_number(const char *text, uint32_t max, uint32_t *value)
{
	uint64_t v;

	if (!parse_number64(text, &v) || v > max)
		return false;
	*value = (uint32_t)v;
	return true;
}

/* "kgni3", "/dev/kgni3" or "3". */
bool parse_device(const char *text, uint32_t *dev)
{
	const char *p = text;

	if (!strncmp(p, "/dev/", 5))
		p += 5;
	if (!strncmp(p, "kgni", 4))
		p += 4;
	else if (p != text)
		return false;
	return strspn(p, "0123456789") == strlen(p) && parse_number(p, 63, dev);
}

/* Is a word meant, perhaps shortened? */
bool is_prefix(const char *prefix, const char *word)
{
	return *prefix && !strncmp(prefix, word, strlen(prefix));
}
