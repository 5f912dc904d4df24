package datadir

import (
	"errors"
	"fmt"
	"os"
)

// OpenNamed opens and locks the directory of a node. Without a name the name is the host's; when a
// running node has that directory, the next free of n1, n2... is taken if another will do. clean
// makes a valid name of the host's, and dirFor is the directory for a name. It returns the name
// that it took.
func OpenNamed(
	name string,
	another bool,
	clean, dirFor func(name string) string,
) (*Dir, string, error) {
	if name != "" {
		d, err := Open(dirFor(name))
		return d, name, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	name = clean(host)
	for i := 1; ; i++ {
		d, err := Open(dirFor(name))
		var locked *LockedError
		if !errors.As(err, &locked) || !another || i > 100 {
			return d, name, err
		}
		name = fmt.Sprintf("n%d", i)
	}
}
