package node

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/security/keyfile"
	"crawlnode/status"
	"crawlnode/web/botauth"
)

// This file is what a node does with --bot-key: it signs, publishes the keys, and fetches nothing
// when the others sign with other keys.

// bot is a node's identity before web servers. It does not change.
type bot struct {
	keys  []botauth.Key // the first signs
	agent botauth.Agent
	block *crawl.BotBlock
}

// openBot reads the key; nil: nothing is signed.
func openBot(c *config.Config, started time.Time) (*bot, error) {
	keys, err := keyfile.LoadBotKeys(c.BotKey)
	if keys == nil || err != nil {
		return nil, err
	}
	agent, err := botauth.ParseAgent(c.BotAgent)
	if err != nil {
		return nil, usageError(fmt.Errorf("--bot-agent: %w", err))
	}
	b := &bot{
		keys:  keys,
		agent: agent,
		block: &crawl.BotBlock{Agent: agent.URL(), Since: started.UTC()},
	}
	for _, k := range keys {
		b.block.Keys = append(b.block.Keys, k.ID())
	}
	return b, nil
}

// signer signs the requests of a fetcher; nil: none is signed.
func (b *bot) signer() *botauth.Signer {
	if b == nil {
		return nil
	}
	return botauth.NewSigner(b.keys[0], b.agent)
}

// botBlock is what this node says of its keys.
func (n *Node) botBlock() *crawl.BotBlock {
	if n.bot == nil {
		return nil
	}
	return n.bot.block
}

// BotDirectory is the directory of this node's keys, without a body when there is no --bot-key. It
// is signed for an authority that is this node's own or that of --bot-agent. For any other there is
// no signature: its owner could publish these keys as theirs.
func (n *Node) BotDirectory(authority string, own bool) botauth.Published {
	if n.bot == nil {
		return botauth.Published{}
	}
	if !own && authority != n.bot.agent.Authority() {
		return botauth.Publish(n.bot.keys)
	}
	var nonces [botauth.MaxKeys][botauth.NonceSize]byte
	for i := range nonces {
		_, _ = rand.Read(nonces[i][:]) // it never fails: package crypto/rand
	}
	return botauth.PublishFor(n.bot.keys, authority, time.Now(), nonces)
}

// keyMismatch is why this node fetches nothing because of its keys.
type keyMismatch struct {
	unheard bool // too few of the others have told their keys yet; nobody is told of that
	since   time.Time
	from    status.BotMember // whose keys differ
}

// botPatience is how long after its start a node waits to hear the keys of most members. They tell
// them every second, and without most of them there is no lease; it ends the wait all the same.
const botPatience = 10 * time.Second

// compareBotKeys compares this node's keys with those that the other members have told. It is
// called once a second, and before a partition is held, so that a node that joins or starts again
// with another key fetches nothing at all.
func (n *Node) compareBotKeys(now time.Time) {
	others := n.others()
	members := make([]status.BotMember, 0, len(others)+1)
	members = append(members, botMember(n.id, n.name, n.botBlock()))
	infos := n.peers.All()
	for _, m := range others {
		if info, ok := infos[m.ID]; ok && info.Block.Boot == m.Boot {
			members = append(members, botMember(m.ID, m.Name, info.Block.Bot))
		}
	}
	if 2*len(members) <= len(others)+1 && now.Sub(n.started) < botPatience {
		n.mismatch.Store(&keyMismatch{unheard: true})
		return
	}
	from, differs := status.BotKeyMismatch(n.id, members)
	if !differs {
		n.mismatch.Store(nil)
		return
	}
	since := now
	if before := n.mismatch.Load(); before != nil && !before.unheard {
		since = before.since
	}
	n.mismatch.Store(&keyMismatch{since: since, from: from})
}

func botMember(id crawl.NodeID, name string, b *crawl.BotBlock) status.BotMember {
	m := status.BotMember{ID: id, Name: name}
	if b != nil {
		m.Keys, m.Agent, m.Since = b.Keys, b.Agent, b.Since
	}
	return m
}

// watchBotKeys stops fetching when the keys differ or are not known, and resumes it when they
// agree.
func (n *Node) watchBotKeys(now time.Time) {
	before := n.mismatch.Load()
	n.compareBotKeys(now)
	m := n.mismatch.Load()
	if differs := m != nil && !m.unheard; differs != n.mismatchTold {
		if n.mismatchTold = differs; differs {
			n.log.Error("this node fetches nothing, because its bot key is not that of the others",
				"own", idsOf(n.botBlock()), "differs_from", m.from.Name)
		} else {
			n.log.Info("the bot key agrees with that of the others: this node fetches again")
		}
	}
	if (m != nil) != n.mismatchPaused || (m != nil) != (before != nil) {
		n.mismatchPaused = m != nil
		n.documentChanged()
	}
}

func idsOf(b *crawl.BotBlock) string {
	if b == nil {
		return "none"
	}
	return strings.Join(b.Keys, ", ")
}

// botDiffers says since when this node fetches nothing because of its keys, and why; "": it does.
func (n *Node) botDiffers() (since time.Time, why string) {
	m := n.mismatch.Load()
	if m == nil || m.unheard {
		return time.Time{}, ""
	}
	own, theirs := "signs its requests with another key", m.from.Name+" signs with "+
		strings.Join(m.from.Keys, ", ")
	do := "the --bot-key and --bot-agent of the others"
	switch {
	case n.bot == nil:
		own = "has no --bot-key"
	case len(m.from.Keys) == 0:
		theirs, do = m.from.Name+" signs nothing", "no --bot-key, or the others with this one"
	case m.from.Agent != n.bot.block.Agent:
		own = "says that its keys are at " + n.bot.block.Agent + " (--bot-agent)"
		theirs = m.from.Name + " says " + m.from.Agent
	}
	return m.since, fmt.Sprintf("%s fetches nothing, because it %s, "+
		"and web servers would take it for another crawler: %s; restart it with %s",
		n.name, own, theirs, do)
}
