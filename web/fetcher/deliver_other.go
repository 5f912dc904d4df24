//go:build !linux

package fetcher

import "net"

// limitDelivery does nothing here: only the write's deadline applies.
func limitDelivery(net.Conn) {}
