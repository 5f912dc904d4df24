package node

import (
	"errors"
	"fmt"
	"sync"

	"crawlnode/local/datadir"
	"crawlnode/output/webhooks"
)

// webhookSecret is the name in the file of --secrets of what signs webhooks.
const webhookSecret = "webhook"

// openWebhooks opens the spool of --webhook. Where there is a file of --secrets it must have the
// secret: who names one wants signatures, and a receiver that checks none is open to anybody.
func (n *Node) openWebhooks() (err error) {
	needed := n.cfg.Secrets != ""
	secret := func() (string, bool) {
		value, _ := n.secrets.Lookup(webhookSecret)
		return value.Reveal(), needed
	}
	if text, _ := secret(); len(n.cfg.Webhooks) > 0 && needed && text == "" {
		return usageError(fmt.Errorf("--webhook: the file of --secrets, %s, has no secret named %s: "+
			"add a line %s=VALUE, which signs what is sent",
			n.cfg.Secrets, webhookSecret, webhookSecret))
	}
	n.webhooks, err = webhooks.Open(webhooks.Options{
		URLs:      n.cfg.Webhooks,
		Dir:       n.dir.Join("webhooks"),
		Events:    n.events,
		Secret:    secret,
		Node:      n.name,
		UserAgent: "crawlnode/" + n.version,
		Stop:      n.stop,
		Log:       n.log,
	})
	if err != nil {
		return datadir.Failed("open the webhooks", err)
	}
	return nil
}

// finishSending sends what is left to sinks and webhooks, at the same time.
func (n *Node) finishSending() error {
	var both sync.WaitGroup
	var hooks error
	both.Go(func() { hooks = n.webhooks.Finish() })
	err := n.sinks.Finish()
	both.Wait()
	return errors.Join(err, hooks)
}
