//go:build !linux

package fetcher

import "net"

// limitDelivery can do nothing here: the write's deadline is all there is.
func limitDelivery(net.Conn) {}
