// SPDX-License-Identifier: GPL-2.0-only
/* What ethtool shows of an interface. */
#include <linux/ethtool.h>

#include "gnip.h"

static const char gnip_queue_names[GNIP_QUEUE_STATS][ETH_GSTRING_LEN] = {
	[GNIP_RX_PACKETS] = "rx_packets",
	[GNIP_RX_BYTES] = "rx_bytes",
	[GNIP_RX_NO_MEMORY] = "rx_no_memory",
	[GNIP_RX_ERRORS] = "rx_errors",
	[GNIP_RX_LARGE] = "rx_large",
	[GNIP_RX_COPIED] = "rx_copied",
	[GNIP_RX_OVERRUNS] = "rx_overruns",
	[GNIP_TX_PACKETS] = "tx_packets",
	[GNIP_TX_BYTES] = "tx_bytes",
	[GNIP_TX_LARGE] = "tx_large",
	[GNIP_TX_FLOODED] = "tx_flooded",
	[GNIP_TX_NO_PEER] = "tx_no_peer",
	[GNIP_TX_NO_SESSION] = "tx_no_session",
	[GNIP_TX_STALLED] = "tx_stalled",
	[GNIP_TX_NO_MEMORY] = "tx_no_memory",
	[GNIP_TX_ERRORS] = "tx_errors",
	[GNIP_TX_NO_CREDIT] = "tx_no_credit",
	[GNIP_TX_NO_BUFFER] = "tx_no_buffer",
	[GNIP_TX_STOPS] = "tx_stops",
};

static const char gnip_dev_names[GNIP_DEV_STATS][ETH_GSTRING_LEN] = {
	[GNIP_SESSIONS] = "sessions",
	[GNIP_SESSIONS_LOST] = "sessions_lost",
	[GNIP_SESSIONS_CLOSED] = "sessions_closed",
	[GNIP_CONNECT_TIMEOUTS] = "connect_timeouts",
	[GNIP_CONNECT_ERRORS] = "connect_errors",
	[GNIP_QUIESCES] = "quiesces",
};

static void gnip_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct gnip_dev *gd = netdev_priv(dev);

	strscpy(info->driver, "gnip", sizeof(info->driver));
	strscpy(info->version, KGNI_VERSION, sizeof(info->version));
	snprintf(info->fw_version, sizeof(info->fw_version), "GNI %u.%u.%u",
		 GNI_GET_MAJOR(kgni_driver_version), GNI_GET_MINOR(kgni_driver_version),
		 GNI_GET_REV(kgni_driver_version));
	snprintf(info->bus_info, sizeof(info->bus_info), "kgni%u", gd->device_id);
}

static int gnip_get_sset_count(struct net_device *dev, int sset)
{
	struct gnip_dev *gd = netdev_priv(dev);

	if (sset != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return GNIP_DEV_STATS + gd->max_queues * GNIP_QUEUE_STATS;
}

static void gnip_get_strings(struct net_device *dev, u32 sset, u8 *data)
{
	struct gnip_dev *gd = netdev_priv(dev);
	unsigned int i, q;

	if (sset != ETH_SS_STATS)
		return;
	for (i = 0; i < GNIP_DEV_STATS; i++)
		ethtool_sprintf(&data, "%s", gnip_dev_names[i]);
	for (q = 0; q < gd->max_queues; q++)
		for (i = 0; i < GNIP_QUEUE_STATS; i++)
			ethtool_sprintf(&data, "q%u_%s", q, gnip_queue_names[i]);
}

static void gnip_get_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct gnip_dev *gd = netdev_priv(dev);
	unsigned int i, q;

	for (i = 0; i < GNIP_DEV_STATS; i++)
		*data++ = atomic64_read(&gd->stats[i]);
	for (q = 0; q < gd->max_queues; q++)
		for (i = 0; i < GNIP_QUEUE_STATS; i++)
			*data++ = atomic64_read(&gd->queues[q].stats[i]);
}

static void gnip_get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct gnip_dev *gd = netdev_priv(dev);

	channels->max_combined = gd->max_queues;
	channels->combined_count = gd->nqueues;
}

static int gnip_set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct gnip_dev *gd = netdev_priv(dev);
	int err;

	if (netif_running(dev) || gnip_closing(gd))
		return -EBUSY;
	err = netif_set_real_num_queues(dev, channels->combined_count, channels->combined_count);
	if (!err)
		gd->nqueues = channels->combined_count;
	return err;
}

static int gnip_get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *cmd)
{
	cmd->base.speed = SPEED_UNKNOWN;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

const struct ethtool_ops gnip_ethtool_ops = {
	.get_drvinfo = gnip_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_sset_count = gnip_get_sset_count,
	.get_strings = gnip_get_strings,
	.get_ethtool_stats = gnip_get_stats,
	.get_channels = gnip_get_channels,
	.set_channels = gnip_set_channels,
	.get_link_ksettings = gnip_get_link_ksettings,
};
