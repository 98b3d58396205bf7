// Program transport is the API server's side of an admission webhook: the same client manager, REST client, retries and checks of answers
// that kube-apiserver uses (k8s.io/apiserver), as a source of load.
//
// The endpoints of the service come as lines on standard input, each with all addresses of the moment, separated by blanks; a new connection goes to
// one of them. The line "stop", or the end of the input, ends the run. Then one line of JSON on standard output says what became of every request.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	"k8s.io/apiserver/pkg/util/webhook"
)

// endpoints resolves the service as the API server's endpoint routing does: any address that is there, at the time of dialling.
type endpoints struct {
	mutex     sync.RWMutex
	addresses []string
}

func (e *endpoints) set(addresses []string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.addresses = addresses
}

// ResolveEndpoint implements webhook.ServiceResolver.
func (e *endpoints) ResolveEndpoint(_, name string, _ int32) (*url.URL, error) {
	e.mutex.RLock()
	defer e.mutex.RUnlock()
	if len(e.addresses) == 0 {
		return nil, fmt.Errorf("no endpoints of service %q", name)
	}
	return &url.URL{Scheme: "https", Host: e.addresses[rand.IntN(len(e.addresses))]}, nil
}

// summary is what is printed in the end.
type summary struct {
	// Requests by what became of them: "allowed", "denied", or the kind of failure.
	Outcomes map[string]int64 `json:"outcomes"`
	// Of each kind of failure, the first text.
	Examples map[string]string `json:"examples"`
	// The slowest answer that was taken, in milliseconds.
	SlowestMillis int64 `json:"slowestMillis"`
	// How many answers took more than a second, which is what a retry after `Retry-After` takes.
	Late int64 `json:"late"`
}

func (s *summary) add(kind string, err error, elapsed time.Duration) {
	s.Outcomes[kind]++
	if err != nil && s.Examples[kind] == "" {
		s.Examples[kind] = err.Error()
	}
	s.SlowestMillis = max(s.SlowestMillis, elapsed.Milliseconds())
	if elapsed > time.Second {
		s.Late++
	}
}

func (s *summary) merge(other *summary) {
	for kind, count := range other.Outcomes {
		s.Outcomes[kind] += count
	}
	for kind, text := range other.Examples {
		s.Examples[kind] = text
	}
	s.SlowestMillis = max(s.SlowestMillis, other.SlowestMillis)
	s.Late += other.Late
}

func empty() *summary {
	return &summary{Outcomes: map[string]int64{}, Examples: map[string]string{}}
}

// kindOf names a failure by its cause, so that failures can be told apart in a summary.
func kindOf(err error) string {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return fmt.Sprintf("status %d", status.ErrStatus.Code)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	text := err.Error()
	for _, known := range []string{"EOF", "connection refused", "connection reset", "broken pipe", "x509", "no endpoints"} {
		if strings.Contains(text, known) {
			return known
		}
	}
	return "other"
}

type caller struct {
	manager *webhook.ClientManager
	config  webhook.ClientConfig
	timeout time.Duration
	object  []byte
	mutates bool
}

// call asks once, as the dispatchers of kube-apiserver do, and judges the answer.
func (c *caller) call() (string, error) {
	client, err := c.manager.HookClient(c.config)
	if err != nil {
		return "client", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	uid := uuid.NewUUID()
	review := &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID:       uid,
		Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Name:      "web",
		Namespace: "shop",
		Operation: admissionv1.Create,
		Object:    runtime.RawExtension{Raw: c.object},
	}}
	answer := &admissionv1.AdmissionReview{}
	if err := client.Post().Body(review).Timeout(c.timeout).Do(ctx).Into(answer); err != nil {
		return kindOf(err), err
	}
	result, err := request.VerifyAdmissionResponse(uid, c.mutates, answer)
	if err != nil {
		return "invalid answer", err
	}
	if result.Allowed {
		return "allowed", nil
	}
	return "denied", nil
}

func main() {
	authority := flag.String("ca", "", "PEM `file` with the authority of the service's certificates")
	object := flag.String("object", "", "JSON `file` with the object of every review; a small Pod by default")
	path := flag.String("path", "/validate", "`path` of the webhook")
	address := flag.String("url", "", "call this loopback `URL`, for which the API server offers HTTP/2, and no service")
	workers := flag.Int("workers", 16, "callers at a time")
	timeout := flag.Duration("timeout", 10*time.Second, "timeoutSeconds of the webhook")
	pause := flag.Duration("pause", 5*time.Millisecond, "longest pause of a caller between two requests")
	least := flag.Int64("least", 0, "print the line \"enough\" after so many requests")
	flag.Parse()

	service := &endpoints{}
	caller, err := newCaller(service, *authority, *object, *path, *address, *timeout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "transport:", err)
		os.Exit(2)
	}
	input := bufio.NewScanner(os.Stdin)
	if input.Scan() {
		service.set(strings.Fields(input.Text()))
	}
	var stop atomic.Bool
	var made atomic.Int64
	results := make(chan *summary)
	for range *workers {
		go func() {
			mine := empty()
			for !stop.Load() {
				start := time.Now()
				kind, err := caller.call()
				mine.add(kind, err, time.Since(start))
				if made.Add(1) == *least {
					fmt.Println("enough")
				}
				time.Sleep(rand.N(*pause + 1))
			}
			results <- mine
		}()
	}
	for input.Scan() && input.Text() != "stop" {
		service.set(strings.Fields(input.Text()))
	}
	stop.Store(true)
	all := empty()
	for range *workers {
		all.merge(<-results)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		os.Exit(1)
	}
}

func newCaller(service *endpoints, authority, object, path, address string, timeout time.Duration) (*caller, error) {
	bundle, err := os.ReadFile(authority)
	if err != nil {
		return nil, fmt.Errorf("-ca: %w", err)
	}
	pod := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"a","image":"a:1"}]}}`)
	if object != "" {
		if pod, err = os.ReadFile(object); err != nil {
			return nil, fmt.Errorf("-object: %w", err)
		}
	}
	manager, err := webhook.NewClientManager([]schema.GroupVersion{admissionv1.SchemeGroupVersion}, admissionv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	resolver, err := webhook.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		return nil, err
	}
	manager.SetAuthenticationInfoResolver(resolver)
	manager.SetServiceResolver(service)
	config := webhook.ClientConfig{Name: "usher", CABundle: bundle}
	if address == "" {
		config.Service = &webhook.ClientConfigService{Name: "usher", Namespace: "usher-system", Path: path, Port: 443}
	} else {
		config.URL = address
	}
	return &caller{&manager, config, timeout, pod, strings.HasPrefix(path, "/mutate")}, manager.Validate()
}
