# What differs from one cluster to the next. Copy this file, change what is different there, and name the copy with
# `submit --site COPY` or in $RULEMILL_SITE. It is Bash: `submit` reads it, and every job again on its node.
# shellcheck shell=bash disable=SC2034

binary=${RULEMILL:-rulemill}        # as the nodes see it: a build, or bin/rulemill of the packed folder
modules=()                          # loaded first: (openmpi/4.1 hdf5/1.10)
container=()                        # stands before the binary: (apptainer exec --bind /scratch /images/rulemill.sif)
launch=(--mpi=pmix --cpu-bind=cores) # how srun starts ranks; Open MPI 4 needs PMIx

account=""                          # empty: what Slurm takes by itself
qos=""
partition=""                        # of nodes for all stages
gpu_partition=""                    # of nodes for fingerprints in a chain of stages; empty: they are made on CPUs

# Sizes. `submit check` says what of them does not fit; docs/cluster.md how to choose them.
nodes=1
ranks_per_node=8                    # proofs use one core a rank, threads of a rank share its memory
cores_per_rank=1
memory_per_core=2G
time=04:00:00

gpu_nodes=1
gpus_per_node=4                     # and as many ranks
cores_per_gpu=8
gpu_memory_per_core=4G
gpu_time=01:00:00

optimize_cores=8                    # one process a model
optimize_memory_per_core=4G
optimize_time=01:00:00
optimize_at_once=32                 # models
