// Logs, notes and proofs as golang.org/x/mod has them, for comparison with ours: one JSON request on standard input, one JSON
// answer on standard output. It shares no code with what it checks; of C2SP it adds only where tiles and entries are kept and
// how witnesses sign.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

type request struct {
	Op        string   `json:"op"`
	Dir       string   `json:"dir"`
	Key       string   `json:"key"`
	Witnesses []string `json:"witnesses"`
	Sizes     []int64  `json:"sizes"`
	Entries   []string `json:"entries"`
	Cases     []check  `json:"cases"`
	Note      string   `json:"note"`
	Time      uint64   `json:"time"`
}

// One claimed proof: of inclusion when Leaf is there, else of consistency.
type check struct {
	Size  int64    `json:"size"`
	Root  string   `json:"root"`
	Index int64    `json:"index"`
	Leaf  string   `json:"leaf"`
	Older int64    `json:"older"`
	First string   `json:"first"`
	Proof []string `json:"proof"`
}

func main() {
	var asked request
	err := json.NewDecoder(os.Stdin).Decode(&asked)
	var answer any
	if err == nil {
		answer, err = answerTo(asked)
	}
	if err != nil {
		answer = map[string]any{"ok": false, "error": err.Error()}
	}
	json.NewEncoder(os.Stdout).Encode(answer)
}

func answerTo(asked request) (any, error) {
	switch asked.Op {
	case "check-log":
		return checkLog(asked)
	case "check-proofs":
		return checkProofs(asked.Cases), nil
	case "make-log":
		return makeLog(asked)
	case "open-note":
		return openNote(asked)
	case "cosign":
		return cosign(asked)
	}
	return nil, errors.New("no such operation")
}

// checkLog proves each entry of the log, and each older head, against the newest head.
func checkLog(asked request) (any, error) {
	heads := []tlog.Tree{}
	for _, size := range asked.Sizes {
		text, err := os.ReadFile(filepath.Join(asked.Dir, headPath(size)))
		if err != nil {
			return nil, err
		}
		tree, err := openHead(text, asked)
		if err != nil {
			return nil, err
		}
		heads = append(heads, tree)
	}
	newest := heads[len(heads)-1]
	reader := tlog.TileHashReader(newest, &files{dir: asked.Dir})
	for index := int64(0); index < newest.N; index++ {
		entry, err := entryAt(asked.Dir, newest.N, index)
		if err != nil {
			return nil, err
		}
		proof, err := tlog.ProveRecord(newest.N, index, reader)
		if err != nil {
			return nil, err
		}
		if err := tlog.CheckRecord(proof, newest.N, newest.Hash, index, tlog.RecordHash(entry)); err != nil {
			return nil, fmt.Errorf("entry %d: %w", index, err)
		}
	}
	for _, older := range heads {
		if older.N == 0 {
			continue
		}
		proof, err := tlog.ProveTree(newest.N, older.N, reader)
		if err != nil {
			return nil, err
		}
		if err := tlog.CheckTree(proof, newest.N, newest.Hash, older.N, older.Hash); err != nil {
			return nil, fmt.Errorf("tree of %d: %w", older.N, err)
		}
	}
	return map[string]any{"ok": true, "size": newest.N, "root": newest.Hash.String()}, nil
}

func openHead(text []byte, asked request) (tlog.Tree, error) {
	verifier, err := note.NewVerifier(asked.Key)
	if err != nil {
		return tlog.Tree{}, err
	}
	opened, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() {
		return tlog.Tree{}, errors.New("not a tree head of this log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	hash, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: hash}, err
}

func checkProofs(cases []check) any {
	holds := make([]bool, len(cases))
	for place, one := range cases {
		root, first, leaf := hashOf(one.Root), hashOf(one.First), hashOf(one.Leaf)
		hashes := make([]tlog.Hash, len(one.Proof))
		for at, text := range one.Proof {
			hashes[at] = hashOf(text)
		}
		if one.Leaf != "" {
			holds[place] = tlog.CheckRecord(hashes, one.Size, root, one.Index, leaf) == nil
		} else {
			holds[place] = tlog.CheckTree(hashes, one.Size, root, one.Older, first) == nil
		}
	}
	return map[string]any{"ok": true, "holds": holds}
}

// makeLog writes a log of these entries with a signed head of each size, and answers every proof of the last tree.
func makeLog(asked request) (any, error) {
	signer, err := note.NewSigner(asked.Key)
	if err != nil {
		return nil, err
	}
	stored := hashes{}
	for index, entry := range asked.Entries {
		more, err := tlog.StoredHashes(int64(index), []byte(entry), stored)
		if err != nil {
			return nil, err
		}
		stored = append(stored, more...)
	}
	last := int64(0)
	for _, size := range asked.Sizes {
		for _, tile := range tlog.NewTiles(height, last, size) {
			data, err := tlog.ReadTileData(tile, stored)
			if err != nil {
				return nil, err
			}
			if err := write(asked.Dir, tilePath(tile), data); err != nil {
				return nil, err
			}
		}
		for from := last - last%256; from < size; from += 256 {
			to := min(from+256, size)
			var bundle []byte
			for _, entry := range asked.Entries[from:to] {
				bundle = binary.BigEndian.AppendUint16(bundle, uint16(len(entry)))
				bundle = append(bundle, entry...)
			}
			tile := tlog.Tile{H: height, L: -1, N: from / 256, W: int(to - from)}
			if err := write(asked.Dir, tilePath(tile), bundle); err != nil {
				return nil, err
			}
		}
		root, err := tlog.TreeHash(size, stored)
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("%s\n%d\n%s\n", signer.Name(), size, root)
		signed, err := note.Sign(&note.Note{Text: text}, signer)
		if err != nil {
			return nil, err
		}
		if err := write(asked.Dir, headPath(size), signed); err != nil {
			return nil, err
		}
		last = size
	}
	cases, err := allProofs(last, stored)
	return map[string]any{"ok": true, "cases": cases}, err
}

func allProofs(size int64, stored hashes) ([]check, error) {
	root, err := tlog.TreeHash(size, stored)
	if err != nil {
		return nil, err
	}
	cases := []check{}
	for index := int64(0); index < size; index++ {
		proof, err := tlog.ProveRecord(size, index, stored)
		if err != nil {
			return nil, err
		}
		leaf := stored[tlog.StoredHashIndex(0, index)].String()
		cases = append(cases, check{Size: size, Root: root.String(), Index: index, Leaf: leaf, Proof: texts(proof)})
		older, err := tlog.TreeHash(index+1, stored)
		if err != nil {
			return nil, err
		}
		continued, err := tlog.ProveTree(size, index+1, stored)
		if err != nil {
			return nil, err
		}
		cases = append(cases, check{Size: size, Root: root.String(), Older: index + 1, First: older.String(), Proof: texts(continued)})
	}
	return cases, nil
}

func openNote(asked request) (any, error) {
	verifiers := []note.Verifier{}
	for _, text := range asked.Witnesses {
		witness, err := newWitness(text)
		if err != nil {
			return nil, err
		}
		verifiers = append(verifiers, witness)
	}
	if asked.Key != "" {
		verifier, err := note.NewVerifier(asked.Key)
		if err != nil {
			return nil, err
		}
		verifiers = append(verifiers, verifier)
	}
	opened, err := note.Open([]byte(asked.Note), note.VerifierList(verifiers...))
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, signature := range opened.Sigs {
		names = append(names, signature.Name)
	}
	return map[string]any{"ok": true, "names": names}, nil
}

type witness struct {
	name string
	id   uint32
	key  ed25519.PublicKey
}

func newWitness(text string) (*witness, error) {
	parts := strings.SplitN(text, "+", 3)
	if len(parts) != 3 {
		return nil, errors.New("not a key")
	}
	encoded, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(encoded) != 33 || encoded[0] != 4 {
		return nil, errors.New("not a witness's key")
	}
	digest := sha256.Sum256(append([]byte(parts[0]+"\n"), encoded...))
	id := binary.BigEndian.Uint32(digest[:])
	if fmt.Sprintf("%08x", id) != parts[1] {
		return nil, errors.New("not the id of this key")
	}
	return &witness{parts[0], id, encoded[1:]}, nil
}

func (w *witness) Name() string    { return w.name }
func (w *witness) KeyHash() uint32 { return w.id }
func (w *witness) Verify(text, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	time := binary.BigEndian.Uint64(signature)
	return ed25519.Verify(w.key, cosigned(time, text), signature[8:])
}

// cosign signs the note's text as the witness whose name and seed the key holds, as name+base64.
func cosign(asked request) (any, error) {
	name, encoded, _ := strings.Cut(asked.Key, "+")
	seed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("not a seed")
	}
	private := ed25519.NewKeyFromSeed(seed)
	public := append([]byte{4}, private.Public().(ed25519.PublicKey)...)
	digest := sha256.Sum256(append([]byte(name+"\n"), public...))
	text, _, _ := bytes.Cut([]byte(asked.Note), []byte("\n\n"))
	text = append(text, '\n')
	signature := append([]byte{}, digest[:4]...)
	signature = binary.BigEndian.AppendUint64(signature, asked.Time)
	signature = append(signature, ed25519.Sign(private, cosigned(asked.Time, text))...)
	line := fmt.Sprintf("\u2014 %s %s\n", name, base64.StdEncoding.EncodeToString(signature))
	verifier := fmt.Sprintf("%s+%x+%s", name, digest[:4], base64.StdEncoding.EncodeToString(public))
	return map[string]any{"ok": true, "line": line, "verifier": verifier}, nil
}

func cosigned(time uint64, text []byte) []byte {
	return append([]byte(fmt.Sprintf("cosignature/v1\ntime %d\n", time)), text...)
}

type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for place, index := range indexes {
		if index >= int64(len(h)) {
			return nil, errors.New("no such hash")
		}
		found[place] = h[index]
	}
	return found, nil
}

type files struct{ dir string }

func (f *files) Height() int                                { return height }
func (f *files) SaveTiles(tiles []tlog.Tile, data [][]byte) {}
func (f *files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(tiles))
	for place, tile := range tiles {
		data, err := readTile(f.dir, tile, tile.W*tlog.HashSize)
		if err != nil {
			return nil, err
		}
		read[place] = data
	}
	return read, nil
}

// readTile takes the full form where the partial one is gone.
func readTile(dir string, tile tlog.Tile, size int) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, tilePath(tile)))
	if err != nil {
		tile.W = 1 << height
		if data, err = os.ReadFile(filepath.Join(dir, tilePath(tile))); err != nil {
			return nil, err
		}
	}
	if size > 0 && len(data) >= size {
		data = data[:size]
	}
	return data, nil
}

func entryAt(dir string, size, index int64) ([]byte, error) {
	from := index - index%256
	tile := tlog.Tile{H: height, L: -1, N: index / 256, W: int(min(256, size-from))}
	bundle, err := readTile(dir, tile, 0)
	if err != nil {
		return nil, err
	}
	for at := from; len(bundle) >= 2; at++ {
		length := int(binary.BigEndian.Uint16(bundle))
		if len(bundle) < 2+length {
			break
		}
		if at == index {
			return bundle[2 : 2+length], nil
		}
		bundle = bundle[2+length:]
	}
	return nil, fmt.Errorf("no entry %d", index)
}

// tilePath is C2SP's: without the height, and with entries instead of data.
func tilePath(tile tlog.Tile) string {
	path := strings.TrimPrefix(tile.Path(), fmt.Sprintf("tile/%d/", height))
	return "tile/" + strings.Replace(path, "data/", "entries/", 1)
}

func headPath(size int64) string {
	digits := fmt.Sprintf("%012d", size)
	return filepath.Join("heads", digits[0:3], digits[3:6], digits[6:9], digits[9:12])
}

func write(dir, path string, data []byte) error {
	file := filepath.Join(dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

func hashOf(text string) tlog.Hash {
	hash, _ := tlog.ParseHash(text)
	return hash
}

func texts(list []tlog.Hash) []string {
	found := make([]string, len(list))
	for place, hash := range list {
		found[place] = hash.String()
	}
	return found
}
