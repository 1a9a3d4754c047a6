package gpu

// Container is a container that holds or uses devices, as far as it is known. Containers are shared between processes and
// holders and are never changed after they were handed out.
type Container struct {
	Namespace string // k8s.namespace.name
	PodName   string
	PodUID    string
	Name      string // k8s.container.name
	ID        string // container.id, without the runtime's prefix

	Owners []Owner           // from the immediate owner up
	Labels map[string]string // further resource attributes by their full names

	// Where there is no Kubernetes: what the cgroup path shows instead.
	SystemdUnit string
	SlurmJob    string
}

// Owner is an object that owns a pod, directly or through others.
type Owner struct{ Kind, Name, UID string }

// Sharing is how a device is shared between its holders (hw.gpu.sharing).
type Sharing uint8

// The ways of sharing.
const (
	SharingExclusive Sharing = iota
	SharingTimeSlicing
	SharingMPS
	SharingClaim // one DRA claim, several containers
	NumSharings
)

// Holder is one container to which a device is allocated, however many slots of it.
type Holder struct {
	Container *Container
	Resource  string // k8s.resource.name: nvidia.com/gpu; for DRA the driver's name
	DRA       bool   // allocated by dynamic resource allocation, else by a device plugin
	Sharing   Sharing
}
