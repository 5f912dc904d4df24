package gossip

import (
	"fmt"
	"net"
	"strconv"
)

// Address is a host, a name or an IP address, with a known port.
type Address struct {
	Host string
	Port int
}

func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// ParseAddress reads host:port.
func ParseAddress(addr string) (Address, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return Address{}, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return Address{}, fmt.Errorf("port %q is not a number below 65536", portText)
	}
	return Address{host, int(port)}, nil
}
