// SPDX-License-Identifier: GPL-2.0-only
/*
 * gnip: a network interface over GNI, one for each GNI device. See gnip.h, and
 * Documentation/gnip.rst for how to use it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "gnip.h"

#define GNIP_DEVICES_MAX	64
#define GNIP_RANGES_MAX		64
#define GNIP_SCAN_MAX		3600
/* What the interfaces of Cray's systems had. */
#define GNIP_MTU_DEFAULT	16000

static unsigned int gnip_ptag = GNI_PTAG_OFED;
module_param_named(ptag, gnip_ptag, uint, 0444);
MODULE_PARM_DESC(ptag, "protection tag, the same on all nodes (2)");

static unsigned int gnip_cookie = GNI_JOB_CREATE_COOKIE(GNI_PKEY_OFED, 0);
module_param_named(cookie, gnip_cookie, uint, 0444);
MODULE_PARM_DESC(cookie, "cookie, the same on all nodes (0x20000)");

static unsigned int gnip_queues = 2;
module_param_named(queues, gnip_queues, uint, 0444);
MODULE_PARM_DESC(queues, "pairs of queues of an interface, 1 to 4 (2)");

unsigned int gnip_buffers = 32;
module_param_named(buffers, gnip_buffers, uint, 0444);
MODULE_PARM_DESC(buffers, "receive buffers of 64 KiB for each queue and peer, 4 to 256 (32)");

unsigned int gnip_fma_max = 4096;
module_param_named(fma_max, gnip_fma_max, uint, 0644);
MODULE_PARM_DESC(fma_max, "bytes of a large frame that are put by FMA at most, more by block transfer (4096)");

static unsigned int gnip_scan = 2;
module_param_named(scan, gnip_scan, uint, 0444);
MODULE_PARM_DESC(scan, "seconds between looks for devices that came or went; 0: only those there are now (2)");

static char *gnip_ranges[GNIP_RANGES_MAX];
static unsigned int gnip_nranges;
module_param_array_named(peers, gnip_ranges, charp, &gnip_nranges, 0444);
MODULE_PARM_DESC(peers, "PE addresses of other nodes' devices that get broadcasts from the start: PE or FIRST-LAST, ...");

/* Makes and removes interfaces; nothing else does once the module is loaded. */
static void gnip_scan_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(gnip_scanner, gnip_scan_work);

static DEFINE_MUTEX(gnip_lock);		/* what follows */
static LIST_HEAD(gnip_devs);		/* read under RCU too */
/* Changes when an interface goes up or down. */
static unsigned int gnip_change = 1;

/* --- PE addresses ----------------------------------------------------------------- */

/* Locally administered, "G", and the PE address. */
static const u8 gnip_mac_prefix[2] = { 0x02, 'G' };

/**
 * gnip_pe_to_mac - the hardware address of an interface
 * @pe: PE address of its device
 * @mac: out, 6 bytes
 */
void gnip_pe_to_mac(u32 pe, u8 *mac)
{
	memcpy(mac, gnip_mac_prefix, sizeof(gnip_mac_prefix));
	put_unaligned_be32(pe, mac + sizeof(gnip_mac_prefix));
}

/**
 * gnip_mac_to_pe - whose hardware address is it
 * @mac: the address
 * @pe: out, PE address of the device
 *
 * Return: false if it is not one of gnip.
 */
bool gnip_mac_to_pe(const u8 *mac, u32 *pe)
{
	*pe = get_unaligned_be32(mac + sizeof(gnip_mac_prefix));
	return !memcmp(mac, gnip_mac_prefix, sizeof(gnip_mac_prefix)) && *pe != GNIP_PE_FLOOD;
}

static int gnip_range(const char *text, u32 *first, u32 *last)
{
	char end;
	int n = sscanf(text, "%u-%u%c", first, last, &end);

	if (n == 2 && *first <= *last && *last - *first < GNIP_PEERS_MAX)
		return 0;
	*last = *first;
	return n == 1 && !kstrtou32(text, 10, first) ? 0 : -EINVAL;
}

static void gnip_known_peer(struct gnip_dev *gd, u32 pe)
{
	struct gnip_peer *peer;

	if (pe == gd->pe || pe == GNIP_PE_FLOOD)
		return;
	peer = gnip_peer_get(gd, pe);
	if (peer)
		WRITE_ONCE(peer->known, gnip_change);
}

/**
 * gnip_known_peers - learn which peers get frames for all though they said nothing yet
 * @gd: the interface
 *
 * These are the other interfaces of this machine that are up, and those that
 * the parameter peers= names.
 *
 * Context: the interface's work.
 */
void gnip_known_peers(struct gnip_dev *gd)
{
	struct gnip_dev *other;
	u32 pe, first, last;
	unsigned int i;

	mutex_lock(&gnip_lock);
	if (gd->known == gnip_change)
		goto unlock;
	list_for_each_entry(other, &gnip_devs, node)
		if (READ_ONCE(other->up))
			gnip_known_peer(gd, other->pe);
	for (i = 0; i < gnip_nranges; i++) {
		gnip_range(gnip_ranges[i], &first, &last);
		for (pe = first; pe - first <= last - first; pe++)
			gnip_known_peer(gd, pe);
	}
	/* From here on those that went are unknown. */
	WRITE_ONCE(gd->known, gnip_change);
unlock:
	mutex_unlock(&gnip_lock);
}

/* Have all interfaces look who is up. */
static void gnip_changed(void)
{
	struct gnip_dev *gd;

	mutex_lock(&gnip_lock);
	gnip_change++;
	list_for_each_entry(gd, &gnip_devs, node)
		gnip_conn_kick(gd);
	mutex_unlock(&gnip_lock);
}

/* --- the network device -------------------------------------------------------------- */

/* For how long an interface that goes down is waited for, jiffies. */
#define GNIP_CLOSE_TIME		HZ

static void gnip_close_queues(struct gnip_dev *gd, unsigned int n)
{
	while (n--)
		gnip_queue_close(&gd->queues[n]);
}

/**
 * gnip_closing - is an interface that went down still busy with that
 * @gd: the interface
 *
 * Context: RTNL.
 */
bool gnip_closing(struct gnip_dev *gd)
{
	return !completion_done(&gd->closed);
}

static int gnip_open(struct net_device *dev)
{
	struct gnip_dev *gd = netdev_priv(dev);
	unsigned int i;
	int err;

	if (gnip_closing(gd))
		return -EBUSY;
	for (i = 0; i < gd->nqueues; i++) {
		err = gnip_queue_open(&gd->queues[i]);
		if (err)
			goto close;
	}
	gd->known = 0;
	err = gnip_conn_open(gd);
	if (err)
		goto close;
	netif_tx_start_all_queues(dev);
	gnip_changed();
	return 0;

close:
	gnip_close_queues(gd, i);
	return err;
}

/* Transfers under way are waited for: while a device stands still that takes its time. */
static void gnip_close_work(struct work_struct *work)
{
	struct gnip_dev *gd = container_of(work, struct gnip_dev, closer);

	gnip_conn_close(gd);
	gnip_close_queues(gd, gd->nqueues);
	/* It would do nothing, but it may still be waiting to. */
	cancel_delayed_work_sync(&gd->conn);
	gnip_peers_free(gd);
	complete_all(&gd->closed);
}

/* RTNL is held, for which everybody else waits. */
static int gnip_stop(struct net_device *dev)
{
	struct gnip_dev *gd = netdev_priv(dev);

	netif_tx_disable(dev);
	reinit_completion(&gd->closed);
	gnip_conn_stop(gd);
	queue_work(gd->wq, &gd->closer);
	wait_for_completion_timeout(&gd->closed, GNIP_CLOSE_TIME);
	gnip_changed();
	return 0;
}

static u64 gnip_sum(const struct gnip_dev *gd, enum gnip_stat stat)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < gd->max_queues; i++)
		sum += atomic64_read(&gd->queues[i].stats[stat]);
	return sum;
}

static void gnip_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *st)
{
	struct gnip_dev *gd = netdev_priv(dev);

	st->rx_packets = gnip_sum(gd, GNIP_RX_PACKETS);
	st->rx_bytes = gnip_sum(gd, GNIP_RX_BYTES);
	st->rx_dropped = gnip_sum(gd, GNIP_RX_NO_MEMORY);
	st->rx_errors = gnip_sum(gd, GNIP_RX_ERRORS);
	st->tx_packets = gnip_sum(gd, GNIP_TX_PACKETS);
	st->tx_bytes = gnip_sum(gd, GNIP_TX_BYTES);
	st->tx_errors = gnip_sum(gd, GNIP_TX_ERRORS);
	st->tx_carrier_errors = gnip_sum(gd, GNIP_TX_NO_SESSION);
	st->tx_dropped = gnip_sum(gd, GNIP_TX_NO_PEER) + gnip_sum(gd, GNIP_TX_NO_SESSION) +
			 gnip_sum(gd, GNIP_TX_STALLED) + gnip_sum(gd, GNIP_TX_NO_MEMORY);
}

static const struct net_device_ops gnip_netdev_ops = {
	.ndo_open = gnip_open,
	.ndo_stop = gnip_stop,
	.ndo_start_xmit = gnip_xmit,
	.ndo_get_stats64 = gnip_get_stats64,
	.ndo_validate_addr = eth_validate_addr,
};

/*
 * Checksums need not be there on the way: the bytes never leave memory that
 * checks itself and links that do. What is still to be done goes with a frame,
 * and who receives it does it if the frame leaves again for a network that is
 * not like this one; likewise segmentation.
 */
#define GNIP_FEATURES	(NETIF_F_SG | NETIF_F_HIGHDMA | NETIF_F_HW_CSUM | NETIF_F_TSO | \
			 NETIF_F_TSO6 | NETIF_F_TSO_ECN)

static void gnip_setup(struct gnip_dev *gd)
{
	struct net_device *dev = gd->dev;
	u8 mac[ETH_ALEN];

	dev->netdev_ops = &gnip_netdev_ops;
	dev->ethtool_ops = &gnip_ethtool_ops;
	dev->hw_features = GNIP_FEATURES;
	dev->features = GNIP_FEATURES | NETIF_F_RXCSUM;
	dev->vlan_features = GNIP_FEATURES;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = GNIP_MTU_MAX;
	dev->mtu = GNIP_MTU_DEFAULT;
	dev->dev_port = gd->device_id;
	/* GNI's calls are not made with interrupts off, as netpoll does all. */
	dev->priv_flags |= IFF_DISABLE_NETPOLL;
	/* Peers find it by its address: there is no other. */
	gnip_pe_to_mac(gd->pe, mac);
	eth_hw_addr_set(dev, mac);
	netif_carrier_off(dev);
}

/* --- devices ----------------------------------------------------------------------- */

/* The end of a quiesce; its begin is seen by the interface's work. Must not sleep. */
static void gnip_quiesced(gni_nic_handle_t nic, u64 msecs)
{
	struct gnip_dev *gd;

	rcu_read_lock();
	list_for_each_entry_rcu(gd, &gnip_devs, node)
		if (gd->nic == nic)
			gnip_conn_kick(gd);
	rcu_read_unlock();
}

/* A datagram to nobody. Its id is none that gd->next_dgram gives. */
static int gnip_post_life(struct gnip_dev *gd)
{
	if (gni_ep_create(gd->nic, NULL, &gd->life) != GNI_RC_SUCCESS ||
	    gni_ep_bind(gd->life, gd->pe, GNIP_INST_NOBODY) != GNI_RC_SUCCESS ||
	    gni_ep_postdata_w_id(gd->life, NULL, 0, NULL, 0, 0) != GNI_RC_SUCCESS)
		return -ENOBUFS;
	return 0;
}

/* Return: 0; -ENODEV if there is no such device; -errno. */
static int gnip_attach(u32 device_id, gni_cdm_handle_t *cdm, gni_nic_handle_t *nic, u32 *pe)
{
	gni_return_t rc = gni_cdm_create(GNIP_INST_ID, gnip_ptag, gnip_cookie, 0, cdm);

	if (rc != GNI_RC_SUCCESS)
		return rc == GNI_RC_INVALID_PARAM ? -EINVAL : -ENOMEM;
	rc = gni_cdm_attach(*cdm, device_id, pe, nic);
	if (rc == GNI_RC_SUCCESS)
		return 0;
	gni_cdm_destroy(*cdm);
	switch (rc) {
	case GNI_RC_NO_MATCH:
		return -ENODEV;
	case GNI_RC_PERMISSION_ERROR:
		return -EPERM;
	case GNI_RC_INVALID_PARAM:
		return -EINVAL;
	default:
		return -EBUSY;
	}
}

static int gnip_init_dev(struct gnip_dev *gd)
{
	unsigned int i;
	int err;

	spin_lock_init(&gd->up_lock);
	spin_lock_init(&gd->peers_lock);
	hash_init(gd->peers);
	ida_init(&gd->ids);
	INIT_DELAYED_WORK(&gd->conn, gnip_conn_work);
	INIT_WORK(&gd->closer, gnip_close_work);
	init_completion(&gd->closed);
	complete_all(&gd->closed);
	gd->queues = kvcalloc(gd->max_queues, sizeof(*gd->queues), GFP_KERNEL);
	if (!gd->queues)
		return -ENOMEM;
	for (i = 0; i < gd->max_queues; i++) {
		gd->queues[i].gd = gd;
		gd->queues[i].index = i;
	}
	gd->wq = alloc_workqueue("gnip%u", WQ_UNBOUND | WQ_MEM_RECLAIM, 1, gd->device_id);
	if (!gd->wq) {
		err = -ENOMEM;
		goto free;
	}
	err = gnip_post_life(gd);
	if (err)
		goto destroy;
	return 0;

destroy:
	destroy_workqueue(gd->wq);
free:
	kvfree(gd->queues);
	return err;
}

static void gnip_exit_dev(struct gnip_dev *gd)
{
	flush_work(&gd->closer);
	gni_set_quiesce_callback(gd->nic, NULL);
	mutex_lock(&gnip_lock);
	list_del_rcu(&gd->node);
	mutex_unlock(&gnip_lock);
	synchronize_rcu();
	gni_cdm_destroy(gd->cdm);
	destroy_workqueue(gd->wq);
	ida_destroy(&gd->ids);
	kvfree(gd->queues);
	free_netdev(gd->dev);
}

/* It is called after its device, unless that name is taken. */
static int gnip_register(struct gnip_dev *gd)
{
	int err;

	snprintf(gd->dev->name, IFNAMSIZ, "gnip%u", gd->device_id);
	err = register_netdev(gd->dev);
	if (err != -EEXIST)
		return err;
	strscpy(gd->dev->name, "gnip%d", IFNAMSIZ);
	return register_netdev(gd->dev);
}

/* Make the interface of a device that @cdm, which has no other, is attached to. */
static int gnip_create_dev(u32 device_id, gni_cdm_handle_t cdm, gni_nic_handle_t nic, u32 pe)
{
	struct net_device *dev;
	struct gnip_dev *gd;
	int err = -ENOMEM;

	dev = alloc_etherdev_mqs(sizeof(*gd), gnip_queues, gnip_queues);
	if (!dev)
		goto destroy;
	gd = netdev_priv(dev);
	gd->dev = dev;
	gd->device_id = device_id;
	gd->pe = pe;
	gd->cdm = cdm;
	gd->nic = nic;
	gd->max_queues = gnip_queues;
	gd->nqueues = gnip_queues;
	err = gnip_init_dev(gd);
	if (err)
		goto free;
	gnip_setup(gd);
	mutex_lock(&gnip_lock);
	list_add_tail_rcu(&gd->node, &gnip_devs);
	mutex_unlock(&gnip_lock);
	gni_set_quiesce_callback(nic, gnip_quiesced);
	err = gnip_register(gd);
	if (err)
		gnip_exit_dev(gd);
	return err;

free:
	free_netdev(dev);
destroy:
	gni_cdm_destroy(cdm);
	return err;
}

/* Return: 0; -ENODEV if there is no such device; -errno. */
static int gnip_create(u32 device_id)
{
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	u32 pe;
	int err = gnip_attach(device_id, &cdm, &nic, &pe);

	return err ? err : gnip_create_dev(device_id, cdm, nic, pe);
}

static void gnip_destroy(struct gnip_dev *gd)
{
	unregister_netdev(gd->dev);
	gnip_exit_dev(gd);
}

static void gnip_destroy_all(void)
{
	struct gnip_dev *gd, *next;

	list_for_each_entry_safe(gd, next, &gnip_devs, node)
		gnip_destroy(gd);
}

/* --- devices that come and go ------------------------------------------------------ */

static bool gnip_is_there(struct gnip_dev *gd)
{
	gni_post_state_t state;
	u32 pe, id;

	return gni_ep_postdata_test_by_id(gd->life, 0, &state, &pe, &id) == GNI_RC_SUCCESS &&
	       state == GNI_POST_PENDING;
}

static struct gnip_dev *gnip_find(u32 device_id)
{
	struct gnip_dev *gd;

	list_for_each_entry(gd, &gnip_devs, node)
		if (gd->device_id == device_id)
			return gd;
	return NULL;
}

/* Return: 0 if each device has an interface now; -errno; -ENODEV if there is none. */
static int gnip_look(void)
{
	struct gnip_dev *gd;
	int err, rc = 0;
	u32 id;

	for (id = 0; id < GNIP_DEVICES_MAX; id++) {
		gd = gnip_find(id);
		if (gd && gnip_is_there(gd))
			continue;
		if (gd)
			gnip_destroy(gd);
		err = gnip_create(id);
		if (err && err != -ENODEV)
			rc = err;
	}
	return rc ? rc : list_empty(&gnip_devs) ? -ENODEV : 0;
}

static void gnip_scan_work(struct work_struct *work)
{
	int err = gnip_look();

	if (err && err != -ENODEV)
		pr_warn_once("no interface for a device: error %d\n", err);
	schedule_delayed_work(&gnip_scanner, gnip_scan * HZ);
}

static int __init gnip_check_params(void)
{
	u32 first, last;
	unsigned int i;

	if (!gnip_queues || gnip_queues > GNIP_QUEUES_MAX || gnip_buffers < 4 ||
	    gnip_buffers > GNIP_BUFS_MAX || !gnip_ptag || gnip_ptag > GNI_PTAG_MAX ||
	    gnip_scan > GNIP_SCAN_MAX)
		return -EINVAL;
	for (i = 0; i < gnip_nranges; i++)
		if (gnip_range(gnip_ranges[i], &first, &last))
			return -EINVAL;
	return 0;
}

static int __init gnip_init(void)
{
	int err = gnip_check_params();

	if (err)
		return err;
	err = gnip_look();
	if (err)
		gnip_destroy_all();
	else if (gnip_scan)
		schedule_delayed_work(&gnip_scanner, gnip_scan * HZ);
	return err;
}
module_init(gnip_init);

static void __exit gnip_exit(void)
{
	cancel_delayed_work_sync(&gnip_scanner);
	gnip_destroy_all();
}
module_exit(gnip_exit);

MODULE_DESCRIPTION("A network interface over GNI");
MODULE_LICENSE("GPL");
MODULE_VERSION(KGNI_VERSION);
