# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Optional services of a cluster: controllers beside those of Kubernetes that tests/cluster/service starts on demand.
#
#	kueue			Kueue: queues for Jobs, JobSets, PyTorchJobs and pods
#	jobset			the controller of JobSets
#	training-operator	the controller of PyTorchJobs
#	vpa-admission		the admission controller of the Vertical Pod Autoscaler; tests write its recommendations
#
# Each is built from a module and runs as a process, like all services, with its own CRDs, roles and webhooks: what the
# module's chart or manifests install. Its Deployment is installed too, with no replicas. The Service of its webhook leads
# to the process by an EndpointSlice with the node's address.

optional=(kueue jobset training-operator vpa-admission)
declare -A module=(
	[kueue]=sigs.k8s.io/kueue@v0.19.2
	[jobset]=sigs.k8s.io/jobset@v0.12.0
	[training-operator]=github.com/kubeflow/training-operator@v1.9.3
	[vpa-admission]=k8s.io/autoscaler/vertical-pod-autoscaler@v1.8.1
)
declare -A module_sum=(
	[kueue]=h1:mPNzr37u0nwI7ikST5QQl5gg6EgtYOAvC9ZbTgywdN8=
	[jobset]=h1:YYPuV0px8Ongq/RXmJg6V0w2UC67aiR+rCMD06vhQQQ=
	[training-operator]=h1:aaSHqskOtCY8Dn8sVd+l9p5XAczW6O0nYMPjVLAw/lc=
	[vpa-admission]=h1:Pe8bV1wozN4gOKO1rleiIY5alIyAXN+DnXDbXQcL4fI=
)
declare -A module_main=(
	[kueue]=./cmd/kueue
	[jobset]=.
	[training-operator]=./cmd/training-operator.v1
	[vpa-admission]=./pkg/admission-controller
)
# Its namespace and ServiceAccount.
declare -A account=(
	[kueue]="kueue-system kueue-controller-manager"
	[jobset]="jobset-system jobset-controller"
	[training-operator]="kubeflow training-operator"
	[vpa-admission]="kube-system vpa-admission-controller"
)
# The Service of its webhook, the port that the process listens on, and the name of the Service's port.
declare -A webhook=(
	[kueue]="kueue-webhook-service 9443"
	[jobset]="jobset-webhook-service 9444 webhook"
	[training-operator]="training-operator 9445 webhook-server"
)
# The Secret in which it keeps the certificate that it makes for its webhook.
declare -A secret=(
	[kueue]=kueue-webhook-server-cert
	[jobset]=jobset-webhook-server-cert
	[training-operator]=training-operator-webhook-cert
)

is_optional() # NAME
{
	[ -n "${module[$1]-}" ]
}

# objects_of NAME SOURCE PROGRAMS: what the module in SOURCE installs, but no API of its own: that would have to answer
# whenever the API server is asked what it serves.
objects_of()
{
	case $1 in
	kueue)
		"$3/helm" template kueue "$2/charts/kueue" --namespace kueue-system --set controllerManager.replicas=0
		;;
	jobset)
		"$3/helm" template jobset "$2/charts/jobset" --namespace jobset-system --include-crds \
			--set controller.replicas=0
		;;
	training-operator)
		"$3/kubectl" kustomize "$2/manifests/overlays/standalone" | sed 's/^  replicas: 1$/  replicas: 0/'
		;;
	vpa-admission)
		cat "$2/deploy/vpa-v1-crd-gen.yaml" "$2/deploy/vpa-rbac.yaml"
		;;
	esac | awk -v RS='\n---\n' -v ORS='\n---\n' '!/(^|\n)kind: APIService(\n|$)/'
}

# From here on inside the cluster, beside services.sh.

endpoints_of() # NAME
{
	local service port name
	[ -n "${webhook[$1]-}" ] || return 0
	read -r service port name <<<"${webhook[$1]}"
	cat <<-END
		apiVersion: discovery.k8s.io/v1
		kind: EndpointSlice
		metadata:
		  name: $service-process
		  namespace: ${account[$1]% *}
		  labels: {kubernetes.io/service-name: $service}
		addressType: IPv4
		endpoints: [{addresses: ["$node_ip"]}]
		ports: [{name: "$name", port: $port}]
	END
}

configuration_of() # NAME
{
	case $1 in
	kueue)
		cat <<-END
			apiVersion: config.kueue.x-k8s.io/v1beta2
			kind: Configuration
			health: {healthProbeBindAddress: ":8081"}
			metrics: {bindAddress: "127.0.0.1:18443"}
			webhook: {port: 9443}
			leaderElection: {leaderElect: false}
			internalCertManagement:
			  enable: true
			  webhookServiceName: kueue-webhook-service
			  webhookSecretName: ${secret[kueue]}
			featureGates: {VisibilityOnDemand: false}
			integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, kubeflow.org/pytorchjob, pod]}
		END
		;;
	jobset)
		cat <<-END
			apiVersion: config.jobset.x-k8s.io/v1alpha1
			kind: Configuration
			webhook: {port: 9444}
			leaderElection: {leaderElect: false}
			internalCertManagement:
			  enable: true
			  webhookServiceName: jobset-webhook-service
			  webhookSecretName: ${secret[jobset]}
		END
		;;
	training-operator)
		# The init container of workers: theirs waits for the master's name, and there is no DNS.
		cat <<-END
			- name: init-pytorch
			  image: {{.InitContainerImage}}
			  args: [say, "{{.MasterAddr}}"]
		END
		;;
	esac
}

# prepare_optional NAME: before its first start: its objects in the API server, its configuration and its kubeconfig.
prepare_optional()
{
	local at=$conf/$1 namespace name
	[ ! -e "$at/kubeconfig" ] || return 0
	read -r namespace name <<<"${account[$1]}"
	mkdir -p "$at/tmp/k8s-webhook-server/serving-certs"
	kubectl get namespace "$namespace" >/dev/null 2>&1 || kubectl create namespace "$namespace"
	{
		cat "/run/assets/$1/objects.yaml"
		endpoints_of "$1"
	} | kubectl apply --server-side -f - >"$dir/logs/$1.log"
	configuration_of "$1" >"$at/config.yaml"
	[ "$1" != vpa-admission ] || certificate vpa-admission/tls /CN=vpa-admission IP:127.0.0.1
	kubeconfig "$name" "$(kubectl create token "$name" --namespace "$namespace" --duration 720h)" "$at/kubeconfig"
}

# command_of_optional NAME: in the array command. Each has a /tmp of its own: several look for their certificate in the
# same folder of it.
command_of_optional()
{
	local at=$conf/$1
	command=(env "KUBECONFIG=$at/kubeconfig" unshare --mount sh -c 'mount --bind "$0/tmp" /tmp && exec "$@"' "$at"
		"/run/assets/$1/program")
	case $1 in
	kueue)
		command+=(--config "$at/config.yaml")
		;;
	jobset)
		command+=(--config "$at/config.yaml" --metrics-bind-address 0 --health-probe-bind-address :8082)
		;;
	training-operator)
		command+=(--webhook-server-port 9445 --metrics-bind-address 0 --health-probe-bind-address :8083
			--enable-scheme pytorchjob --pytorch-init-container-image memtamer.test/actor:1
			--pytorch-init-container-template-file "$at/config.yaml")
		;;
	vpa-admission)
		command+=(--kubeconfig "$at/kubeconfig" --client-ca-file "$conf/ca.crt" --tls-cert-file "$at/tls.crt"
			--tls-private-key "$at/tls.key" --address 127.0.0.1:8944 --port 9446 --register-by-url
			--webhook-address https://127.0.0.1 --webhook-port 9446)
		;;
	esac
}

is_optional_ready() # NAME
{
	case $1 in
	kueue) bring_certificate "$1" && answers 8081 /readyz ;;
	jobset) bring_certificate "$1" && answers 8082 /readyz ;;
	training-operator) bring_certificate "$1" && answers 8083 /readyz ;;
	# It registers itself ten seconds after its start.
	vpa-admission) answers 8944 /health-check && kubectl get mutatingwebhookconfiguration vpa-webhook-config ;;
	esac
}

# bring_certificate NAME: what a kubelet does for a pod that mounts the Secret.
bring_certificate()
{
	local file folder=$conf/$1/tmp/k8s-webhook-server/serving-certs
	for file in ca.crt tls.key tls.crt; do
		[ ! -s "$folder/$file" ] || continue
		kubectl get secret "${secret[$1]}" --namespace "${account[$1]% *}" -o "jsonpath={.data.${file/./\\.}}" |
			base64 -d >"$folder/$file.new"
		[ -s "$folder/$file.new" ] || return
		mv "$folder/$file.new" "$folder/$file"
	done
}
