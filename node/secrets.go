package node

import (
	"fmt"

	"crawlnode/security/secrets"
)

// openSecrets reads the file of --secrets; without one there are none.
func (n *Node) openSecrets() (err error) {
	if n.secrets, err = secrets.Open(n.cfg.Secrets, n.log); err != nil {
		return usageError(fmt.Errorf("--secrets: %w", err))
	}
	n.means = newMeans(n.secrets)
	return nil
}

// ReloadSecrets reads the secrets again, from the file that --secrets names now, and the cookie
// files that they name. A file that is wrong is logged, and what was read before stays. It may be
// called at any time after Open, from any goroutine.
func (n *Node) ReloadSecrets(file string) {
	_ = n.secrets.ReloadFrom(file) // it has logged the error
}
